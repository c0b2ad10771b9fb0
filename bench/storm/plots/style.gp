# What all plots have in common. The white background is for GitHub's dark theme.
set encoding utf8
set datafile missing "nan"
set style line 1 lc rgb "#404040" lw 1
set style line 2 lc rgb "#dcdcdc" lw 1 dt 1
set border 3 ls 1
set grid xtics ytics ls 2
set tics nomirror out scale 0.5
shade = "#eeeeee"
latency_tics = \
  "set %stics ('0.01 ms' 0.01, '0.1 ms' 0.1, '1 ms' 1, '10 ms' 10, '0.1 s' 100, '1 s' 1000, '10 s' 10000)"
svg(width, height) = sprintf( \
  "set terminal svg size %d,%d fixed font 'sans-serif,15' linewidth 1 background 'white'", width, height)
