#include "simulator/systemc/burst_extension.h"
