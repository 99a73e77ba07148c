# y = (x . w^T + bias) >> 4, clipped to int8: `rows` rows, `blocks` blocks of 16 inputs, 16 outputs.
#   dovetail simulate examples/assembly/matmul.s --engine cycle --output y.npy@y
.config 1x16x16
.equ rows 4
.equ blocks 3

# Micro-op k multiplies the rows of block k by its weights; the loop of GEMM goes over the rows.
kernel:
.repeat blocks k
        .uop 0, \k*rows, \k
.endr

.data   x    int8[rows,blocks,block_in] 1 -2 3      # the three values repeat; --place x.npy@x lays others over them
.data   w    int8[blocks,block_out,block_in] 5 4 -3 2 1 -6
.data   bias int32[block_out] 100 -100
.space  y    int8[rows,block_out]

# The next block is loaded while this one is multiplied: the token says that it is there.
.macro block k
        load.inp sram=\k*rows dram=x+\k*inp.bytes size=rows,1 stride=blocks
        load.wgt sram=\k dram=w+\k*wgt.bytes size=1x1 push_next
        gemm uop=\k:\k+1 iter=1,rows dst=0,1 src=0,1 pop_prev
.endm

        load.uop sram=0 dram=kernel size=1,kernel.bytes/uop.bytes
        load.acc sram=0 dram=bias size=rows,1 stride=0       # the same bias for each row
.repeat blocks k
        block \k
.endr
        alu.shr uop=0:1 iter=1,rows dst=0,1 imm=4
        alu.max uop=0:1 iter=1,rows dst=0,1 imm=-128
        alu.min uop=0:1 iter=1,rows dst=0,1 imm=127 push_next
        store.out sram=0 dram=y size=1,rows pop_prev push_prev
        finish pop_next
