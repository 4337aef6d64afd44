// Runs the tests of Karapace's registry (Aiven-Open/karapace on GitHub, Apache-2.0) against a broker of ours:
// `npm run suite:karapace`. It takes the commit below from GitHub into .cache/, or from the path or URL of `--from`,
// and the packages of the tests from PyPI into a virtual environment. karapace_plugin.py takes the place of the suite's
// own set-up, which starts Kafka and Karapace. The tests run on the registry's own port, because Karapace's client
// drops the path of a base URL. `--only word` runs the tests whose name contains the word, and keeps no results.
//
// It ends with status 1 if a test without a reason (karapace-reasons.ts) does not pass.

import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startBroker } from '../../testing/broker.ts'
import { CACHE } from '../../testing/cache.ts'
import { keepFindings } from '../../testing/compatibility.ts'
import { freePort, startBrokerProcess } from '../../testing/process.ts'
import { lineOf, type Outcome } from '../suites/outcomes.ts'
import { runSlice, runStep, stopOnSignal } from '../suites/slice.ts'
import { CAUSES, reasonFor } from './karapace-reasons.ts'

const COMMIT = '3bbc1f8d30d7b650f49b75128ba9a46fdab61a67'
const PACKAGES = [
  'aiohttp==3.14.5',
  'attrs==26.1.0',
  'fastapi==0.165.0',
  'jsonschema==4.26.0',
  'orjson==3.13.0',
  'pydantic==2.14.4',
  'pytest==9.2.0',
  'pytest-asyncio==1.5.0',
  'requests==2.34.2',
]
/** The tests of the REST API that need neither Kafka nor a user of Karapace's own. */
const FILES = [
  'test_schema',
  'test_schema_protobuf',
  'test_jsonschema',
  'test_dependencies_compatibility_protobuf',
  'test_schema_compatibility',
  'test_schema_avro_references',
  'test_schema_registry_mode',
]
/** The tests that expect the ids of a new registry (KNOWS_IDS in karapace_plugin.py). */
const KNOW_IDS = 5
const LONGEST_MS = 300_000

const SOURCE = join(CACHE, `karapace-${COMMIT.slice(0, 12)}`)
const PYTHON_FOLDER = join(CACHE, `karapace-tests-${PACKAGES.map(each => each.split('==')[1]).join('-')}`)
const PYTHON = join(PYTHON_FOLDER, 'bin', 'python')
const HERE = fileURLToPath(new URL('.', import.meta.url))

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: 'https://github.com/Aiven-Open/karapace.git' },
    only: { type: 'string', default: '' },
    verbose: { type: 'boolean', default: false },
  },
})

function build(): void {
  mkdirSync(CACHE, { recursive: true })
  if (!existsSync(join(SOURCE, 'tests'))) {
    rmSync(SOURCE, { recursive: true, force: true })
    runStep('git', ['clone', '--quiet', '--no-checkout', '--filter=blob:none', values.from, SOURCE], CACHE)
    runStep('git', ['checkout', '--quiet', COMMIT, '--', 'src', 'tests'], SOURCE)
  }
  if (existsSync(join(PYTHON_FOLDER, 'complete'))) return
  rmSync(PYTHON_FOLDER, { recursive: true, force: true })
  runStep('python3', ['-m', 'venv', PYTHON_FOLDER], CACHE)
  runStep(PYTHON, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...PACKAGES], CACHE)
  mkdirSync(join(PYTHON_FOLDER, 'complete'))
}

const stop = stopOnSignal()
build()
const report = join(CACHE, 'karapace-report.jsonl')
rmSync(report, { force: true })
const ends: (() => Promise<void>)[] = []
try {
  const port = await freePort()
  const cleanUp = { after: (fn: () => Promise<void>) => void ends.push(fn) }
  await startBrokerProcess(cleanUp, {
    settings: { 'svc.admin.security-enabled': 'false', 'svc.schema-registry.port': String(port) },
  })
  const fresh: string[] = []
  for (let at = 0; at < KNOW_IDS; at++) {
    const { broker } = await startBroker(
      cleanUp,
      { 'admin.security-enabled': false, 'schema-registry.port': 0 },
      { hasHttp: true },
    )
    fresh.push(`http://127.0.0.1:${broker.registryPort}`)
  }
  const options = ['--noconftest', '-p', 'karapace_plugin', '-o', 'addopts=', '-o', 'asyncio_mode=auto', '--tb=short']
  const { output, how } = await runSlice(
    PYTHON,
    [
      ...['-m', 'pytest', ...options, '--import-mode=importlib', '-k', values.only],
      ...FILES.map(file => `tests/integration/${file}.py`),
    ],
    {
      cwd: SOURCE,
      env: {
        REGISTRY_URL: `http://127.0.0.1:${port}`,
        FRESH_URLS: fresh.join(' '),
        REPORT: report,
        PYTHONPATH: `src:.:${HERE}`,
        PYTHONDONTWRITEBYTECODE: '1',
      },
      longestMs: LONGEST_MS,
      stop,
      verbose: values.verbose,
    },
  )
  if (how !== null || !existsSync(report))
    throw new Error(`the tests did not run: ${how ?? ''}\n${output.slice(-2_000)}`)
} finally {
  for (const end of ends.reverse()) await end()
}

const outcomes: readonly Outcome[] = readFileSync(report, 'utf8')
  .trimEnd()
  .split('\n')
  .map(line => JSON.parse(line))
const passed = outcomes.filter(({ result }) => result === 'passed')
const rest = outcomes.filter(({ result }) => result !== 'passed')
const strange = rest.filter(each => reasonFor(each) === null)
for (const each of values.only === '' ? strange : outcomes) console.log(lineOf(each))
process.exitCode = strange.length === 0 ? 0 : 1
if (values.only === '') keepResults()

function keepResults(): void {
  const byCause = Map.groupBy(rest, each => reasonFor(each)?.cause ?? null)
  const count = (cause: keyof typeof CAUSES) => byCause.get(cause)?.length ?? 0
  const summary = `${passed.length} of ${outcomes.length} passed as they are written. In ${count('message')} more only the message of an error differs, ${count('confluent')} contradict Confluent's registry, and ${count('server')} need Karapace's server.`
  console.log(summary)
  keepFindings('karapace', {
    title: "Karapace: its registry's tests",
    order: 53,
    command: 'npm run suite:karapace',
    text: [
      `The ${FILES.length} files of tests of Karapace's REST API (commit ${COMMIT.slice(0, 12)}), on the registry's own port, one test after the other. \`e2e/registry/karapace_plugin.py\` takes the place of the suite's own set-up, which starts Kafka and Karapace for each test: it empties the registry, and gives the tests that know ids a new one. Where Karapace and Confluent's registry differ, Ketch follows Confluent's.`,
      summary,
    ],
    tables: [
      {
        caption: 'Not passed, and why:',
        head: ['test', 'tests', 'cause', 'why'],
        rows: [...Map.groupBy(rest, each => `${nameOf(each)}\n${reasonFor(each)?.why ?? each.detail}`)].map(
          ([key, group]) => {
            const [name, why] = key.split('\n') as [string, string]
            const cause = reasonFor(group[0]!)?.cause
            return [name, String(group.length), cause === undefined ? 'Ketch' : CAUSES[cause], why]
          },
        ),
      },
      {
        caption: 'Passed:',
        head: ['file', 'passed', 'of'],
        rows: FILES.map(file => {
          const of = (some: readonly Outcome[]) =>
            String(some.filter(({ name }) => name.startsWith(`${file}.py`)).length)
          return [file, of(passed), of(outcomes)]
        }),
      },
    ],
  })
}

/** Returns the name of the test without its file. Parameters are left out, but for the one that tells cases apart. */
function nameOf({ name }: Outcome): string {
  const [, test, parameters] = /: (\w+)(?:\[(.*)\])?$/.exec(name)!
  const which = /^(?:None|metadata1|rule_set1)-.*?registry_cluster\d-(.*)$/.exec(parameters ?? '')?.[1]
  return which === undefined ? test! : `${test}: ${which}`
}
