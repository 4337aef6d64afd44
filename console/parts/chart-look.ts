// How each series of a chart is drawn. A colour never stands alone: a dash or a marker repeats it.

/** The colours of series, each with its token. The first four are for things, the next three for percentiles. */
export type SeriesColour = 'series-1' | 'series-2' | 'series-3' | 'series-4' | 'p50' | 'p95' | 'p99' | 'danger'

export interface Series {
  readonly label: string
  /** One value for each time; null where nothing is known. */
  readonly values: readonly (number | null)[]
  /** A dash belongs to each colour. Failures are `danger`, and each of their values above 0 has a marker. */
  readonly colour: SeriesColour
}

export interface Look {
  /** The lengths of strokes and gaps in px; empty for a solid line. */
  readonly dash: readonly number[]
  /** True if every value above 0 gets a marker: a failure must be seen, however short it was. */
  readonly hasMarkers: boolean
}

export const LOOKS: Readonly<Record<SeriesColour, Look>> = {
  'series-1': { dash: [], hasMarkers: false },
  'series-2': { dash: [6, 3], hasMarkers: false },
  'series-3': { dash: [2, 2], hasMarkers: false },
  'series-4': { dash: [8, 3, 2, 3], hasMarkers: false },
  p50: { dash: [], hasMarkers: false },
  p95: { dash: [6, 3], hasMarkers: false },
  p99: { dash: [2, 2], hasMarkers: false },
  danger: { dash: [], hasMarkers: true },
}

/** Returns the indexes of the values that get a marker: those of a series with markers, and values between two gaps. */
export function markedValues(values: readonly (number | null | undefined)[], { hasMarkers }: Look): number[] {
  const isKnown = (at: number) => values[at] !== null && values[at] !== undefined
  return Array.from(values.keys()).filter(at =>
    isKnown(at) ? (hasMarkers && values[at]! > 0) || (!isKnown(at - 1) && !isKnown(at + 1)) : false,
  )
}
