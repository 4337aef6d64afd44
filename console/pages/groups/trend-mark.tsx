// An arrow and a word for the direction of a lag.

import { ARROWS, samplesText, type Trend, trendOf } from './trend.ts'

const COLOURS: Readonly<Record<Trend, string>> = { growing: 'text-danger', steady: 'text-muted', falling: 'text-ok' }

/** `lags` are the last samples, oldest first. */
export function TrendMark({ lags }: { readonly lags: readonly (number | null)[] }) {
  const trend = trendOf(lags)
  if (trend === null)
    return (
      <span
        className="text-muted"
        title="A trend needs two samples. The broker records the lag of a group from the first lag on."
      >
        —
      </span>
    )
  return (
    <span className={`whitespace-nowrap ${COLOURS[trend]}`} title={`The last samples of the lag: ${samplesText(lags)}`}>
      <span aria-hidden>{ARROWS[trend]}</span> {trend}
    </span>
  )
}
