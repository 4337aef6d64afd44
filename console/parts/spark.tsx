// A sparkline: the shape of an hour in the room of a word. The numbers are beside it.

interface SparkProps {
  /** Oldest first; null where nothing is known. */
  readonly values: readonly (number | null)[]
  /** A description for screen readers: `Records in per second, the last hour`. */
  readonly label: string
  /** In px; `full` takes the width that there is. */
  readonly width?: number | 'full'
  readonly height?: number
}

const UNITS = 100

export function Spark({ values, label, width = 96, height = 20 }: SparkProps) {
  const most = Math.max(...values.map(value => value ?? 0), 0)
  const step = values.length > 1 ? UNITS / (values.length - 1) : UNITS
  // The line keeps a px of room, so that it is not cut at its highest and lowest points.
  const yOf = (value: number) => height - 1 - (most === 0 ? 0 : (value / most) * (height - 2))
  let line = ''
  let area = ''
  for (const [at, value] of values.entries()) {
    if (value === null) continue
    const point = `${(at * step).toFixed(2)} ${yOf(value).toFixed(1)}`
    const isStart = at === 0 || values[at - 1] === null
    const isEnd = at === values.length - 1 || values[at + 1] === null
    // A value between two gaps is a dot: the round end of a line without length.
    line += `${isStart ? 'M' : 'L'}${point}${isStart && isEnd ? 'h0' : ''}`
    area += `${isStart ? `M${(at * step).toFixed(2)} ${height}L` : 'L'}${point}`
    if (isEnd) area += `V${height}Z`
  }
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${UNITS} ${height}`}
      preserveAspectRatio="none"
      height={height}
      {...(width === 'full' ? {} : { width })}
      className={`overflow-visible text-accent ${width === 'full' ? 'block w-full' : 'inline-block max-w-full'}`}
    >
      <path d={area} fill="currentColor" opacity="0.1" />
      <path
        d={line}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        strokeLinecap="round"
        strokeLinejoin="round"
        vectorEffect="non-scaling-stroke"
      />
    </svg>
  )
}
