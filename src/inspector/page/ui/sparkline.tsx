const WIDTH = 120;
const HEIGHT = 28;

interface SparklineProps {
  /** The meaning of the numbers, such as `delivered per second`. */
  readonly label: string;
  /** The earliest first. */
  readonly values: readonly number[];
}

/** A small curve, with its numbers in words. */
export function Sparkline({ label, values }: SparklineProps) {
  const highest = Math.max(0, ...values);
  const step = WIDTH / Math.max(1, values.length - 1);
  const points = values.map((value, at) => {
    const y = HEIGHT - 1 - (highest === 0 ? 0 : (value / highest) * (HEIGHT - 3));
    return `${(at * step).toFixed(1)},${y.toFixed(1)}`;
  });
  const text = `${label}: ${values.at(-1) ?? 0} now, at most ${highest} in ${values.length} seconds`;
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={text}>
      <title>{text}</title>
      <polygon points={`0,${HEIGHT} ${points.join(' ')} ${WIDTH},${HEIGHT}`} />
      <polyline points={points.join(' ')} />
    </svg>
  );
}
