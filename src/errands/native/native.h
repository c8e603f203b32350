/* What all C files of Errands share. Without Python's headers: a C compiler is all they need. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
