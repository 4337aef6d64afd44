import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { metricRows } from './metrics.ts'

const read = (file: string) => readFileSync(new URL(`../../docs/monitoring/${file}`, import.meta.url), 'utf8')

/** The series that Prometheus itself writes about each scrape. */
const OF_PROMETHEUS = [['up', new Set(['job', 'instance'])]] as const

/** The series of a scrape under these names, with their labels. */
const samples = new Map<string, ReadonlySet<string>>([
  ...OF_PROMETHEUS,
  ...metricRows
    .filter(({ notYet }) => notYet === null)
    .flatMap(({ scrapedName, kind, labels }) => {
      const isHistogram = kind === 'timer' || kind === 'distribution'
      const names = isHistogram ? ['_bucket', '_count', '_sum'].map(suffix => scrapedName + suffix) : [scrapedName]
      return names.map(
        name => [name, new Set([...labels, 'instance', ...(name.endsWith('_bucket') ? ['le'] : [])])] as const,
      )
    }),
])

/** Returns every expression of a panel or a variable of the dashboard. */
function dashboardExpressions(): readonly string[] {
  const found: string[] = []
  JSON.parse(read('grafana-dashboard.json'), (key, value: unknown) => {
    if ((key === 'expr' || key === 'query') && typeof value === 'string' && value !== 'prometheus') found.push(value)
    return value
  })
  return found
}

function ruleExpressions(): readonly string[] {
  const rules = read('alerts.yaml')
    .split(/^\s+- alert: /m)
    .slice(1)
  return rules.map(rule => /^\s+expr: (?:>-\n)?([\s\S]+?)\n\s+(?:for|labels):/m.exec(rule)?.[1] ?? assert.fail(rule))
}

function check(expression: string): void {
  // Without a job `up` covers everything that is scraped.
  const names = [...expression.matchAll(/\b(?:(?:svc|jvm|process|system)_[a-z0-9_]+|up(?=\{job="))/g)].map(
    ([name]) => name,
  )
  assert.ok(names.length > 0, expression)
  for (const name of names) assert.ok(samples.has(name), `${name} is not in the catalogue: ${expression}`)
  const known = (label: string) => names.some(name => samples.get(name)!.has(label))
  for (const [, labels] of expression.matchAll(/\b(?:by|on) \(([^)]+)\)/g))
    for (const label of labels!.split(', ')) assert.ok(known(label), `nothing has the label ${label}: ${expression}`)
  for (const [, name, matchers] of expression.matchAll(/([a-z0-9_]+)\{([^}]*)\}/g))
    for (const matcher of matchers!.split(',')) {
      const [, label] = /^([a-z_]+)(?:=|!=|=~|!~)"[^"]*"$/.exec(matcher) ?? assert.fail(`${matcher} in ${expression}`)
      assert.ok(samples.get(name!)!.has(label!), `${name} has no label ${label}: ${expression}`)
    }
  assert.equal(expression.split('(').length, expression.split(')').length, expression)
}

test('every metric and label that the dashboard shows is in the catalogue', () => {
  const expressions = dashboardExpressions()
  assert.ok(expressions.length > 30)
  for (const expression of expressions) check(expression)
})

test('every metric and label that an alert rule uses is in the catalogue', () => {
  const expressions = ruleExpressions()
  assert.ok(expressions.length > 15)
  for (const expression of expressions) check(expression)
})

test('a rule that counts single failures counts the first one of its kind too', () => {
  // The kinds of errors are not known at the start, so each series begins with its first failure.
  const open = metricRows.filter(({ labels }) => labels.includes('error_type')).map(row => row.scrapedName)
  const counting = ruleExpressions().filter(rule => open.some(name => rule.includes(`increase(${name}`)))
  assert.ok(counting.length > 0)
  for (const rule of counting) {
    const [, name, range] = /increase\((\w+)\[(\w+)\]\)/.exec(rule) ?? assert.fail(rule)
    assert.ok(rule.replaceAll(/\s+/g, ' ').includes(`[${range}]) and ${name} offset ${range} or ${name})`), rule)
  }
})

test('a broker that cannot be scraped has an alert, of the job that the README names', () => {
  const [, job] = /job_name: (\w+)$/m.exec(read('README.md')) ?? assert.fail()
  assert.ok(ruleExpressions().includes(`up{job="${job}"} == 0`))
})

test('every critical metric has an alert, and every metric of the specification has a panel', () => {
  const rules = ruleExpressions().join('\n')
  const critical = [
    ...['svc_broker_lossy_records_total', 'svc_storage_log_end_regressions_total', 'svc_broker_up'],
    ...['sum(svc_storage_worker_up) == 0', 'svc_storage_cleaner_uncleanable_partitions > 0'],
    'svc_storage_cleaner_oldest_dirty_age_seconds',
  ]
  for (const name of critical) assert.ok(rules.includes(name), name)
  const shown = dashboardExpressions().join('\n')
  const absent = [
    'svc.broker.max_offset',
    'svc.broker.log_start_offset',
    'svc.broker.frame_size',
    'svc.broker.fetch.empty',
  ]
  // Metrics of single partitions, sizes and empty answers help with rare questions. A dashboard for every operator does
  // not show them.
  const unseen = [...absent, 'svc.broker.fetch', 'svc.storage.read.messages', 'svc.storage.write.messages']
  for (const { name, scrapedName, ours, notYet } of metricRows)
    if (!ours && notYet === null && !unseen.includes(name)) assert.ok(shown.includes(scrapedName), name)
})
