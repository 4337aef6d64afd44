// Runs the programs of docs/guides/schemas.md as they are written, at a broker that asks for passwords, and checks that
// each setting and topic config that the page names exists. A program differs from the page only in the ports.

import assert from 'node:assert/strict'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { fullKey, keys } from '../../src/settings/settings.ts'
import { topicConfigs } from '../../src/settings/topic-configs.ts'
import { startBroker } from '../../testing/broker.ts'
import { ketch } from '../../testing/run-ketch.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import { runCommand } from '../command.ts'
import { FOLDER as KAFKA_JS_FOLDER } from '../confluent-js/client.ts'
import { goCommand } from '../installs.ts'
import { JAVA_FLAGS } from '../java/jars.ts'
import { LIBRARIES } from './clients/libraries.ts'
import { GO_SOURCES, JAVA_FOLDER, NPM_FOLDER, pythonProgram } from './clients/packages.ts'
import { ADMIN, type RegistryWorld, startSecuredWorld } from './clients/world.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = await readFile(join(root, 'docs/guides/schemas.md'), 'utf8')

/** The programs of the page in their order, with the language of each. */
const programs = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language, text]) => ({
  language: language!,
  text: text!,
}))

test('every setting and topic config that the guide names exists', () => {
  const known = new Set<string>([...keys.map(fullKey), ...topicConfigs.map(({ name }) => name)])
  const named = [...page.matchAll(/`((?:svc|confluent|schema\.validation)\.[a-z.-]+)(?:=[^`]*)?`/g)].map(
    ([, name]) => name!,
  )
  assert.ok(named.length > 5)
  assert.deepEqual(
    named.filter(name => !known.has(name)),
    [],
  )
})

test('the tests of the libraries use the settings for TLS that the guide names', async () => {
  const of = (name: string) => readFile(new URL(`clients/${name}`, import.meta.url), 'utf8')
  const rows: readonly (readonly [file: string, ...names: string[]])[] = [
    ['Driver.java', 'schema.registry.ssl.truststore.type', 'schema.registry.ssl.truststore.location'],
    ['confluent.py', 'ssl.ca.location'],
    ['confluent-js.ts', 'createAxiosDefaults', 'httpsAgent'],
    ['kafkajs.ts', 'agent'],
    ['go/main.go', 'sr.DialTLSConfig'],
  ]
  for (const [file, ...names] of rows) {
    const source = await of(file)
    for (const name of names) assert.ok(source.includes(name) && page.includes(name), `${file} ${name}`)
  }
})

test('the first commands of the guide do as it says', async t => {
  const { url } = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true })
  const block = /## The first schema\n\n```\n([\s\S]*?)```/.exec(page)![1]!
  const run = async (line: string) => {
    const [, input = '', args] = /^(?:echo '(.*)' \| )?\.\/ketch (.*)$/.exec(line)!
    // A part in single quotes is one word of the shell.
    const words = args!.match(/(?:'[^']*'|[^ '])+/g)!.map(word => word.replaceAll("'", ''))
    return await ketch([...words, `--url=${url}`], { input: [input] })
  }
  let last = ''
  for (const line of block.trim().split('\n')) {
    const { status, out, err } = await run(line)
    assert.deepEqual([status, err], [0, ''], line)
    last = out
  }
  assert.match(last, / {"id":1} \[orders-value 1, id 1, AVRO\]\n$/)
  const [refused] = /\.\/ketch produce orders --value=hello/.exec(page)!
  assert.match((await run(refused)).err, /no-schema-id.* \[INVALID_RECORD\]/)
})

/** Writes a program with the ports of the broker. Resolves with its path. */
async function writeProgram(folder: string, name: string, text: string, world: RegistryWorld): Promise<string> {
  const file = join(folder, name)
  await mkdir(dirname(file), { recursive: true })
  const { host } = new URL(world.process.url)
  await writeFile(file, text.replaceAll('localhost:8080', host).replaceAll('localhost:9092', world.process.address))
  return file
}

/** Gives a folder the packages of npm that the programs load. */
async function linkPackages(folder: string): Promise<void> {
  const packages = {
    '@confluentinc/schemaregistry': NPM_FOLDER,
    '@kafkajs/confluent-schema-registry': NPM_FOLDER,
    '@confluentinc/kafka-javascript': KAFKA_JS_FOLDER,
    kafkajs: root,
  }
  for (const [name, from] of Object.entries(packages)) {
    await mkdir(dirname(join(folder, 'node_modules', name)), { recursive: true })
    await symlink(join(from, 'node_modules', name), join(folder, 'node_modules', name))
  }
}

async function newFolder(t: TestContext): Promise<string> {
  const folder = await temporaryFolder(t, 'ketch-guide-')
  return folder
}

const absence = LIBRARIES.map(library => library.absence()).find(each => each !== null)

test('each program of the guide writes its order', { skip: absence ?? false, timeout: 600_000 }, async t => {
  assert.deepEqual(
    programs.map(({ language }) => language),
    ['properties', 'python', 'js', 'js', 'go'],
  )
  const world = await startSecuredWorld(t)
  await world.makeTopic('orders')
  const folder = await newFolder(t)
  await linkPackages(folder)
  const write = (at: number, name: string) => writeProgram(folder, name, programs[at]!.text, world)

  const source = fileURLToPath(new URL('clients/FromProperties.java', import.meta.url))
  const java = ['-cp', join(JAVA_FOLDER, '*'), source, await write(0, 'producer.properties'), 'orders', '0']
  await runCommand('java', [...JAVA_FLAGS, ...java])
  await runCommand(pythonProgram, [await write(1, 'program.py')])
  await runCommand(process.execPath, [await write(2, 'confluent.js')])
  await runCommand(process.execPath, [await write(3, 'kafkajs.js')])
  for (const name of ['go.mod', 'go.sum'])
    await writeFile(join(folder, name), await readFile(join(GO_SOURCES, name), 'utf8'))
  await write(4, 'main.go')
  // With the flag of clients/build.ts Go finds the compiled packages in its cache.
  await runCommand(await goCommand(), ['run', '-C', folder, '-trimpath', '-mod=mod', '.'])

  const line = ['tail', 'orders', '--decode=registry', '--json', '--last=9', '--count=5', `--url=${world.process.url}`]
  const { out, err } = await ketch(line, { variables: { KETCH_PASSWORD: ADMIN.password } })
  const values = out
    .trimEnd()
    .split('\n')
    .map(each => JSON.parse(each).value)
  assert.deepEqual(
    values.map(({ text }) => text),
    ['{"id":0}', '{"id":1}', '{"id":2}', '{"id":3}', '{"id":4}'],
    err,
  )
  // Every program registers the same content.
  assert.equal(new Set(values.map(({ schema }) => schema.id)).size, 1)
})
