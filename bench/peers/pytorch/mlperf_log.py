"""Writes the log of a training run of BERT with MLCommons' package mlperf_logging, so that the official checker and
`strata check log` can judge it. docs/own_trainer.md explains the events."""
import logging
from pathlib import Path

from mlperf_logging.mllog.mllog import MLLogger


class _Handler(logging.FileHandler):
    """Raises errors of writing; Python's own handler prints them, and goes on."""

    def handleError(self, record):
        raise


class MlperfLog:
    """The log of one run in a new file. Call the methods in the order in which they stand here; `block`, `evaluation` and
    `accuracy` repeat."""

    def __init__(self, path, organization, platform):
        # A logger without the package's own handler, which would write to stdout, too.
        logger = logging.Logger("mlperf", logging.INFO)
        logger.addHandler(_Handler(path, mode="x", encoding="utf-8"))
        self.log = MLLogger(logger, default_stack_offset=1, root_dir=str(Path(__file__).resolve().parents[3]))
        self.log.event("cache_clear", True)
        self.log.start("init_start")
        for key, value in {"benchmark": "bert", "org": organization, "division": "open", "status": "onprem",
                           "platform": platform}.items():
            self.log.event(f"submission_{key}", value)

    def settings(self, seed, global_batch, micro_batches, settings):
        """Logs hyperparameters. `settings` is the file that `strata train` writes beside its log."""
        optimizer, schedule = settings["optimizer"], settings["lr_schedule"]
        # BERT's rules ask for the names opt_lamb_* with any optimizer.
        values = {
            "seed": seed,
            "global_batch_size": global_batch,
            "gradient_accumulation_steps": micro_batches,
            "max_predictions_per_seq": settings["data"]["max_predictions_per_seq"],
            "quality_target": settings["target"]["masked_lm_accuracy"],
            "opt_name": optimizer["name"],
            "opt_base_learning_rate": optimizer["lr"],
            "opt_epsilon": optimizer["epsilon"],
            "opt_lamb_epsilon": optimizer["epsilon"],
            "opt_lamb_beta_1": optimizer["beta1"],
            "opt_lamb_beta_2": optimizer["beta2"],
            "opt_lamb_weight_decay_rate": optimizer["weight_decay"],
            "opt_learning_rate_training_steps": schedule["training_steps"],
            "opt_learning_rate_warmup_steps": schedule["warmup_steps"],
            "num_warmup_steps": schedule["warmup_steps"],
            "start_warmup_step": schedule["start_warmup_step"],
            "opt_end_learning_rate": schedule["end_lr"],
            "opt_lamb_learning_rate_decay_poly_power": schedule["power"],
        }
        for key, value in values.items():
            self.log.event(key, value)

    def start(self):
        """Starts the clock."""
        self.log.end("init_stop")
        self.log.start("run_start")

    def block(self, first, count):
        """Starts a block: the training up to the next evaluation. Counts are samples."""
        self.first = first
        self.log.start("block_start", metadata={"first_epoch_num": first, "epoch_count": count})
        self.log.start("epoch_start", metadata={"epoch_num": first})

    def evaluation(self, samples):
        """Ends the block and starts the evaluation after so many samples."""
        self.log.end("epoch_stop", metadata={"epoch_num": self.first})
        self.log.end("block_stop", metadata={"first_epoch_num": self.first})
        self.log.start("eval_start", metadata={"epoch_num": samples})

    def accuracy(self, samples, value):
        """Ends the evaluation with this masked-LM accuracy."""
        self.log.event("eval_accuracy", value, metadata={"epoch_num": samples})
        self.log.end("eval_stop", metadata={"epoch_num": samples})

    def stop(self, reached, trained_samples, evaluation_samples):
        """Stops the clock."""
        self.log.event("train_samples", trained_samples)
        self.log.event("eval_samples", evaluation_samples)
        self.log.end("run_stop", metadata={"status": "success" if reached else "aborted", "epoch_num": trained_samples})
