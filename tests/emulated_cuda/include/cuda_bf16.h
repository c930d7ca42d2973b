// For nccl.h, which includes it and uses nothing of it.
#pragma once
