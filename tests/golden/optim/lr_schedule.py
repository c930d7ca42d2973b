"""Learning rates of both schedules, as the PyTorch and TensorFlow codes that define them step.

Writes lr_schedule.csv: name,step,rate with step counted from 1.
"""
import csv
import pathlib

CASES = {
    # name: kind, base, end, start, warm-up, total, power
    "published_1024x16": ("published", 3.9299e-4, 4.9455e-5, -16, 82, 179, 1.0),
    "published_square": ("published", 1e-3, 0.0, 0, 10, 50, 2.0),
    "published_no_warmup": ("published", 1e-3, 1e-4, 0, 0, 20, 0.5),
    "reference": ("reference", 4e-4, 0.0, 0, 10, 50, 1.0),
    "reference_late_ramp": ("reference", 4e-4, 0.0, -5, 20, 40, 0.5),
}


class PublishedScheduler:
    """A stateful scheduler: counts its own steps, as an optimizer's would."""

    def __init__(self, base, end, start, warmup, total, degree):
        self.base, self.end, self.start = base, end, start
        self.warmup, self.total, self.degree = warmup, total, degree
        self.last_step = 0

    def step(self):
        self.last_step += 1
        ramp = self.last_step - self.start
        if ramp < self.warmup:
            return self.base * (ramp / self.warmup)
        done = min((self.last_step - self.warmup) / (self.total - self.warmup), 1.0)
        return (self.base - self.end) * (1 - done) ** self.degree + self.end


def reference_rates(base, end, start, warmup, total, power, steps):
    """tf.train.polynomial_decay(global_step), blended with the ramp by a 0/1 mask."""
    for global_step in range(steps):
        clipped = min(global_step, total)
        decayed = (base - end) * (1 - clipped / total) ** power + end
        is_warmup = float(warmup > 0 and global_step - start < warmup)
        ramp = base * (global_step - start) / warmup if warmup else 0.0
        yield (1 - is_warmup) * decayed + is_warmup * ramp


def main():
    path = pathlib.Path(__file__).with_name("lr_schedule.csv")
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for name, (kind, base, end, start, warmup, total, power) in CASES.items():
            steps = total + 10
            if kind == "published":
                scheduler = PublishedScheduler(base, end, start, warmup, total, power)
                rates = [scheduler.step() for _ in range(steps)]
            else:
                rates = list(reference_rates(base, end, start, warmup, total, power, steps))
            for step, rate in enumerate(rates, 1):
                writer.writerow([name, step, repr(rate)])


main()
