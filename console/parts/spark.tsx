// A sparkline: the shape of an hour in the room of a word. The numbers are beside it.

interface SparkProps {
  /** Oldest first; null where nothing is known. */
  readonly values: readonly (number | null)[]
  /** What it shows, for screen readers: `Records in per second, the last hour`. */
  readonly label: string
  readonly width?: number
  readonly height?: number
}

export function Spark({ values, label, width = 96, height = 20 }: SparkProps) {
  const known = values.filter(value => value !== null)
  const most = Math.max(...known, 0)
  const step = values.length > 1 ? width / (values.length - 1) : width
  let path = ''
  let isDrawing = false
  for (const [at, value] of values.entries()) {
    if (value === null) {
      isDrawing = false
      continue
    }
    const y = most === 0 ? height - 1 : height - 1 - (value / most) * (height - 2)
    path += `${isDrawing ? 'L' : 'M'}${(at * step).toFixed(1)} ${y.toFixed(1)}`
    isDrawing = true
  }
  return (
    <svg role="img" aria-label={label} viewBox={`0 0 ${width} ${height}`} width={width} height={height} className="inline-block">
      <path d={path} fill="none" stroke="currentColor" strokeWidth="1.5" className="text-accent" />
    </svg>
  )
}
