// Writes the text of a scrape: OpenMetrics 1.0 (github.com/prometheus/OpenMetrics, specification/OpenMetrics.md), or
// the older Prometheus text format 0.0.4. It writes the families that it is given and knows no metric. A line is joined
// from a few texts that are made once, because the labels of a child and the bounds of a family do not change.

/** Timers and distributions are written as histograms. A timer takes milliseconds and is written in seconds. */
export type Kind = 'timer' | 'distribution' | 'counter' | 'gauge'

export type Format = 'openmetrics' | 'text'

/** One child of a metric. */
export interface Exposed {
  /** `topic="orders",partition="0"`, escaped; empty without labels. */
  readonly labelText: string
  /** The value, or the sum of the observations. */
  readonly value: number
  /** The number of observations in each bucket; the last bucket has no upper bound. Null for a counter or a gauge. */
  readonly counts: Float64Array | null
}

export interface Family {
  /** The name in the scrape, with _seconds for a timer and _total for a counter. */
  readonly scrapedName: string
  readonly kind: Kind
  readonly labels: readonly string[]
  readonly doc: string
  readonly buckets: readonly number[]
  children(): Iterable<Exposed>
}

const CONTENT_TYPES: Readonly<Record<Format, string>> = Object.freeze({
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  text: 'text/plain; version=0.0.4; charset=utf-8',
})

export function contentTypeOf(format: Format): string {
  return CONTENT_TYPES[format]
}

/** Returns OpenMetrics if the Accept header names it and does not prefer plain text (RFC 9110, 12.5.1). */
export function chooseFormat(accept: string | undefined): Format {
  let openmetrics = 0
  let text = 0
  for (const each of (accept ?? '').toLowerCase().split(',')) {
    const [type, ...parameters] = each.split(';').map(part => part.trim())
    const quality = parameters.find(parameter => parameter.startsWith('q='))
    const weight = quality === undefined ? 1 : Number(quality.slice(2)) || 0
    if (type === 'application/openmetrics-text') openmetrics = Math.max(openmetrics, weight)
    else if (type === 'text/plain') text = Math.max(text, weight)
  }
  return openmetrics > 0 && openmetrics >= text ? 'openmetrics' : 'text'
}

/** The most lines that headerOf returns. */
const HEADER_LINES = 3
/** The number of lines in one slice. Writing them takes a fraction of a millisecond once the code is warm. */
const LINES_PER_SLICE = 250

/**
 * Yields the whole text in slices of whole children. A child that is added or removed meanwhile may be in the text or
 * not.
 */
export function* writeFamilies(families: readonly Family[], format: Format): Generator<string> {
  let text = ''
  let lines = 0
  for (const family of families) {
    text += headerOf(family, format)
    lines += HEADER_LINES
    const isHistogram = family.kind === 'timer' || family.kind === 'distribution'
    const write = isHistogram ? histogramWriter(family) : sampleWriter(family)
    const linesEach = isHistogram ? family.buckets.length + 3 : 1
    for (const child of family.children()) {
      text += write(child)
      lines += linesEach
      if (lines < LINES_PER_SLICE) continue
      yield text
      text = ''
      lines = 0
    }
  }
  yield format === 'openmetrics' ? `${text}# EOF\n` : text
}

/**
 * Returns the header lines of a family. In OpenMetrics the name of a counter's family has no _total, and a timer has a
 * line for its unit.
 */
function headerOf({ scrapedName, kind, doc }: Family, format: Format): string {
  const type = kind === 'timer' || kind === 'distribution' ? 'histogram' : kind
  const help = doc.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
  if (format === 'text') return `# HELP ${scrapedName} ${help}\n# TYPE ${scrapedName} ${type}\n`
  const name = kind === 'counter' ? scrapedName.slice(0, -'_total'.length) : scrapedName
  const unit = kind === 'timer' ? `# UNIT ${name} seconds\n` : ''
  return `# TYPE ${name} ${type}\n${unit}# HELP ${name} ${help.replaceAll('"', '\\"')}\n`
}

function sampleWriter({ scrapedName }: Family): (child: Exposed) => string {
  return ({ labelText, value }) =>
    labelText === '' ? `${scrapedName} ${numberText(value)}\n` : `${scrapedName}{${labelText}} ${numberText(value)}\n`
}

function histogramWriter({ scrapedName, buckets, labels }: Family): (child: Exposed) => string {
  const comma = labels.length === 0 ? '' : ','
  const prefixes = [...buckets, Number.POSITIVE_INFINITY].map(
    bound => `${scrapedName}_bucket{le="${boundText(bound)}"${comma}`,
  )
  return ({ labelText, counts, value }) => {
    let text = ''
    let count = 0
    for (let i = 0; i < prefixes.length; i++) {
      count += counts![i]!
      text += `${prefixes[i]!}${labelText}} ${count}\n`
    }
    const braced = labelText === '' ? '' : `{${labelText}}`
    return `${text}${scrapedName}_count${braced} ${count}\n${scrapedName}_sum${braced} ${numberText(value)}\n`
  }
}

/** Returns the labels of a child as they are written between the braces, in the order of the table. */
export function labelText(names: readonly string[], labels: Readonly<Record<string, string>>): string {
  return names.map(name => `${name}="${escaped(String(labels[name]))}"`).join(',')
}

/** Escapes the value of a label. Replaces lone surrogates, because UTF-8 cannot encode them. */
function escaped(value: string): string {
  return value.toWellFormed().replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
}

/**
 * Returns a bound as Go and Python write a float: `0.005`, `1.0`, `1.048576e+06`. Readers compare bounds as texts, so
 * both formats use this form.
 */
function boundText(bound: number): string {
  if (bound === Number.POSITIVE_INFINITY) return '+Inf'
  if (bound >= 1e6 || (bound > 0 && bound < 1e-4)) {
    const [mantissa, exponent] = bound.toExponential().split('e') as [string, string]
    return `${mantissa}e${exponent[0]}${exponent.slice(1).padStart(2, '0')}`
  }
  return Number.isInteger(bound) ? `${bound}.0` : String(bound)
}
