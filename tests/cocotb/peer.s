# A program for other people's models of a memory, in which every unit of `tiny` works at once: rows with strides and
# pads, products, both kinds of vector operation, and a STORE of rows that begin and end within a beat.
.config tiny

products:
        .uop 0, 0, 0
        .uop 1, 1, 1
vectors:
        .uop 0, 4, 0
        .uop 1, 5, 0
.data   x    int8[12,block_in] 1 -2 3 7
.data   w    int8[4,block_out,block_in] 5 4 -3 2 1 -6 9 -8
.data   bias int32[block_out] 100 -100 7 -2100
.space  y    int8[48,block_out]

.macro part n
        load.inp sram=0 dram=x+\n*inp.bytes size=2,2 stride=3 pad=1,1,1,1 pop_next
        load.wgt sram=\n*2 dram=w+\n*2*wgt.bytes size=1,2 push_next
        load.acc sram=0 dram=bias size=8,1 stride=0 pop_prev
        gemm uop=0:2 iter=2,2 dst=2,1 src=2,1 wgt=0,0 push_prev
        alu.mul uop=2:4 iter=2,1 dst=1,0 src=1,0
        alu.shr uop=2:4 iter=1,1 imm=2
        alu.add uop=2:4 iter=2,2 dst=1,1 src=1,0
        alu.max uop=2:4 iter=2,1 dst=2,0 imm=-128
        alu.min uop=2:4 iter=2,1 dst=2,0 imm=127 push_next
        store.out sram=0 dram=y+(1+\n*24)*out.bytes size=3,2 stride=5 pop_prev push_prev
        nop.uop pop_next
.endm

        load.uop sram=0 dram=products size=1,4 push_prev
        part 0
        part 1
        nop.inp pop_next
        finish
