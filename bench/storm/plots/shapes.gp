# Each shape of the engine: what clients feel, and what bulk work gets of what it gets with RocksDB alone.
load "style.gp"
eval svg(1100, 700)
set output output_file
set multiplot layout 2,1 margins 0.1, 0.82, 0.13, 0.94 spacing 0.06
set xrange [0.5:|shapes| + 0.5]
set xtics ("" 1)
set for [i = 1:|shapes|] xtics add ("" i)
set key outside right center Left reverse samplen 1 spacing 1.3
set title "The storm on other shapes: medians, and from the lowest to the highest run"
set ylabel "p99.9 of interactive writes" offset 0.5
set logscale y
eval sprintf(latency_tics, "y")
plot 10 lw 1.5 dt 2 lc rgb "#404040" title "10 ms", \
  for [i = 1:|names|] $latency index i - 1 using 1:2:3:4 with yerrorbars \
  lc rgb colours[i] lw 2 pt points[i] ps 1.2 title names[i]
unset title
unset logscale y
set for [i = 1:|shapes|] xtics add (shapes[i] i) rotate by -60
set ytics auto
set format y "%g %%"
set offsets graph 0, graph 0, graph 0.08, graph 0.08
set ylabel "bulk work, of RocksDB alone's"
plot 92 lw 1.5 dt 2 lc rgb "#404040" title "−8 %", \
  for [i = 1:|names|] $bulk index i - 1 using 1:2:3:4 with yerrorbars \
  lc rgb colours[i] lw 2 pt points[i] ps 1.2 title names[i]
unset multiplot
