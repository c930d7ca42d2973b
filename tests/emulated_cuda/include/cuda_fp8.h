// For nccl.h, which includes this header but does not use it.
#pragma once
