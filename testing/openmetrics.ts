// A strict parser of OpenMetrics 1.0: it throws with the line if the specification does not allow it. It supports
// what a broker writes (counters, gauges, histograms; no timestamps, exemplars or other types) and refuses the rest.
// In CI the reference parser, prometheus_client's, also reads a scrape (e2e/http/scrape.longer.test.ts).

import assert from 'node:assert/strict'

export interface ReadFamily {
  readonly type: string
  readonly help: string
  readonly unit: string
  /** The values by name and labels as they are written, `a_total{b="c"}`. */
  readonly samples: ReadonlyMap<string, number>
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const LABEL = /^[a-zA-Z_][a-zA-Z0-9_]*="((?:[^\\"\n]|\\[\\"n])*)"(,|$)/
const NUMBER = /^(?:NaN|[+-]Inf|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]\d+)?)$/
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  counter: ['_total'],
  gauge: [''],
  histogram: ['_bucket', '_count', '_sum'],
}

/** Returns the families of a scrape by name. Throws if the scrape is invalid. */
export function readOpenMetrics(text: string): ReadonlyMap<string, ReadFamily> {
  assert(text.endsWith('# EOF\n'), 'a scrape ends with # EOF')
  const families = new Map<string, ReadFamily & { samples: Map<string, number> }>()
  const taken = new Set<string>()
  let name = ''
  let meta = new Map<string, string>()
  const open = (next: string) => {
    name = next
    meta = new Map()
    assert.match(name, NAME)
    assert(!families.has(name), `the lines of ${name} are not together`)
    families.set(name, { type: 'unknown', help: '', unit: '', samples: new Map() })
  }
  const lines = text.split('\n')
  assert.equal(lines.pop(), '')
  for (const [at, line] of lines.entries()) {
    if (line === '# EOF') {
      assert.equal(at, lines.length - 1, 'something follows # EOF')
      break
    }
    if (line.startsWith('#')) {
      const [, kind, family, rest = ''] = /^# (TYPE|UNIT|HELP) (\S+)(?: (.*))?$/s.exec(line) ?? assert.fail(line)
      if (family !== name) open(family!)
      assert(!meta.has(kind!), `twice: ${line}`)
      assert.equal(families.get(name)!.samples.size, 0, `after the samples: ${line}`)
      meta.set(kind!, rest)
      if (kind === 'TYPE') assert(rest in SUFFIXES, line)
      if (kind === 'UNIT') assert(rest === '' || name.endsWith(`_${rest}`), line)
      if (kind === 'HELP') assert.match(rest, /^(?:[^\\"]|\\[\\"n])*$/, line)
      families.set(name, {
        type: meta.get('TYPE') ?? 'unknown',
        help: meta.get('HELP') ?? '',
        unit: meta.get('UNIT') ?? '',
        samples: new Map(),
      })
      for (const suffix of kind === 'TYPE' ? ['', ...SUFFIXES[rest]!] : []) {
        assert(suffix === '' || !taken.has(name + suffix), `${name + suffix} means two things`)
        taken.add(name + suffix)
      }
      continue
    }
    const [, sample, labels = '', value] = /^([^{ ]+)(?:\{(.+)\})? (\S+)$/s.exec(line) ?? assert.fail(line)
    const { type, samples } = families.get(name) ?? assert.fail(`no family: ${line}`)
    assert(
      SUFFIXES[type]!.some(suffix => sample === name + suffix),
      `not of ${name}: ${line}`,
    )
    assert.match(value!, NUMBER, line)
    const names = labelNames(labels, line)
    assert.equal(new Set(names).size, names.length, line)
    assert.equal(names.includes('le'), sample === `${name}_bucket` && type === 'histogram', line)
    const key = labels === '' ? sample! : `${sample}{${labels}}`
    assert(!samples.has(key), `twice: ${line}`)
    const number = value === 'NaN' ? Number.NaN : Number(value!.replace('Inf', 'Infinity'))
    if (type === 'counter' || sample === `${name}_bucket` || sample === `${name}_count`)
      assert(number >= 0, `counts are not below 0: ${line}`)
    samples.set(key, number)
  }
  for (const [family, { type, samples }] of families) if (type === 'histogram') checkHistogram(family, samples)
  return families
}

function labelNames(labels: string, line: string): readonly string[] {
  const names: string[] = []
  for (let rest = labels; rest !== ''; ) {
    const found = LABEL.exec(rest) ?? assert.fail(line)
    names.push(found[0].slice(0, found[0].indexOf('=')))
    rest = rest.slice(found[0].length)
    assert(found[2] === '' || rest !== '', `a comma too many: ${line}`)
  }
  return names
}

/** Checks that the buckets of a child are adjacent and increasing and end with +Inf, and that count and sum match. */
function checkHistogram(name: string, samples: ReadonlyMap<string, number>): void {
  let bound = Number.NEGATIVE_INFINITY
  let count = 0
  let child: string | null = null
  for (const [key, value] of samples) {
    const bucket = /^[^{]+_bucket\{le="([^"]+)",?(.*)\}$/s.exec(key)
    if (bucket === null) continue
    const [, text, labels] = bucket
    if (child !== labels || bound === Number.POSITIVE_INFINITY) {
      assert(child === null || bound === Number.POSITIVE_INFINITY, `no +Inf bucket before ${key}`)
      bound = Number.NEGATIVE_INFINITY
      count = 0
      child = labels!
    }
    assert.match(text!, /^(?:\+Inf|\d+\.\d+|\d(?:\.\d+)?e[+-]\d\d)$/, `not a canonical bound: ${key}`)
    const next = Number(text!.replace('Inf', 'Infinity'))
    assert(next > bound && value >= count, `buckets that do not rise: ${key}`)
    bound = next
    count = value
    if (next !== Number.POSITIVE_INFINITY) continue
    const braced: string = labels === '' ? '' : `{${labels}}`
    assert.equal(samples.get(`${name}_count${braced}`), value, `the count of ${key}`)
    assert(samples.has(`${name}_sum${braced}`), `no sum beside ${key}`)
  }
}
