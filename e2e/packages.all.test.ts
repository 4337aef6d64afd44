// Tests the npm packages as an operator who installs Ketch gets them, the console that they build, the audit and the
// bill of materials. scripts/packages.ts checks the lockfiles.

import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bundledPackages, type LockedPackage } from '../scripts/packages.ts'
import type { ShownRecord } from '../src/api/messages.ts'
import { codecs } from '../src/protocol/compression.ts'
import { askHttp } from '../testing/ask-http.ts'
import { drawnBy } from '../testing/at-length.ts'
import type { CleanUp } from '../testing/broker.ts'
import { batchOf, produceTo } from '../testing/kafka.ts'
import { seed } from '../testing/seed.ts'
import { temporaryFolder } from '../testing/temporary-folder.ts'
import { createTopic } from '../testing/topic.ts'
import { connect } from '../testing/wire.ts'
import { runToEnd } from './command.ts'
import { copyOfKetch, start } from './copy-of-ketch.ts'

interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage & { readonly version: string }>>
}

const root = fileURLToPath(new URL('..', import.meta.url))

/** Runs a program until it ends, with these variables beside those of this process. */
function run(cwd: string, env: Readonly<Record<string, string>>, ...command: readonly string[]) {
  return runToEnd(command, { cwd, env: { ...process.env, ...env } })
}

test('a fresh copy', { timeout: 480_000 }, async t => {
  const copy = await copyOfKetch(t, { packages: 'none' })
  const env = { HOME: await temporaryFolder(t, 'ketch-') }
  // npm refuses a package with a script that package.json does not name, and no command runs the script.
  const first = await start(t, copy, { env, settings: ['--svc.admin.security-enabled=false'] })

  await t.test(
    'the packages install without running their scripts, and the broker has everything that it needs of them',
    async () => {
      assert.match(first.said, /^ketch: installing \d+ packages/)
      const version = await run(copy, env, process.execPath, join('scripts', 'start.mjs'), '--version')
      assert.deepEqual([version.status, version.out.split(' ')[0]], [0, 'ketch'], version.err)
      await createTopic(first, 't', 1)
      const wire = await connect(first)
      // lmdb and CRC-32C are used for every batch. Browsing makes the broker decompress each batch.
      for (const codec of codecs)
        assert.equal((await produceTo(wire, batchOf([codec], { compression: codec }))).errorCode, 0)
      await wire.close()
      const { messages } = await askHttp(first.url)<{ messages: ShownRecord[] }>('/api/v1/topics/t/messages')
      assert.deepEqual(new Set(messages.map(({ value }) => value?.text)), new Set(codecs))
    },
  )

  await t.test(
    'a fresh copy installs what building the console takes, and no more, and the next start installs nothing',
    async () => {
      assert.match(
        first.said,
        /^ketch: installing \d+ packages [^\n]*\n.*\nketch: building the web console \(once; needs the npm registry\) \.\.\.\n$/s,
      )
      const page = await fetch(first.url, { headers: { accept: 'text/html' } })
      assert.ok(page.headers.has('ketch-console'), await page.text())
      await first.stop()
      const { packages } = JSON.parse(await readFile(join(copy, 'console/package-lock.json'), 'utf8')) as Lock
      const forDevelopers = Object.keys(packages).filter(place => packages[place]!.dev)
      assert.ok(forDevelopers.length > 0)
      for (const place of forDevelopers)
        await assert.rejects(readFile(join(copy, 'console', place, 'package.json')), { code: 'ENOENT' }, place)
      const second = await start(t, copy, { env: { ...env, npm_config_registry: AWAY } })
      assert.equal(second.said, '')
      await second.stop()
    },
  )
})

/** Starts a registry that answers with this listener. Resolves to its URL. */
async function startRegistry(cleanUp: CleanUp, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  cleanUp.after(async () => void server.close())
  await new Promise(resolve => server.once('listening', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const AWAY = 'http://127.0.0.1:1/'

/** Runs an audit with an npm cache of its own, because npm caches advisories. */
async function audit(registry: string) {
  const cache = await mkdtemp(join(tmpdir(), 'ketch-'))
  try {
    const environment = { npm_config_registry: registry, npm_config_cache: cache }
    return await run(root, environment, process.execPath, join('scripts', 'audit.ts'))
  } finally {
    await rm(cache, { recursive: true, force: true })
  }
}

test('an audit fails for vulnerabilities of high or critical level, and for nothing less', async t => {
  let severity = ''
  const registry = await startRegistry(t, ({ url }, answer) => {
    if (!url!.endsWith('/advisories/bulk')) return answer.writeHead(404).end('{}')
    const named = { id: 1, title: 'a hole', url: 'https://advisory.example/1', severity }
    const advisory = { ...named, vulnerable_versions: '<999', cwe: [], cvss: { score: 0 } }
    answer.setHeader('content-type', 'application/json')
    answer.end(JSON.stringify(severity === '' ? {} : { snappy: [advisory] }))
  })
  const levels = Object.entries({ low: 0, moderate: 0, high: 1, critical: 1 })
  // A run has one of the two levels that fail, and one of the others; KETCH_LONG=1 has all of them.
  for (const [level, expected] of [['', 0] as const, ...drawnBy(seed, 2, levels)]) {
    severity = level
    const { status, out } = await audit(registry)
    assert.equal(status, expected, level)
    if (level !== '') assert.match(out, new RegExp(`^${level}: snappy .*: a hole, https://advisory.example/1$`, 'm'))
    assert.match(out, new RegExp(`^audit: ${level === '' ? 0 : 1} vulnerable packages, ${expected} of them`, 'm'))
  }
})

test('if no registry answers, the audit passes, and its output says that no audit was made', async t => {
  const without = await startRegistry(t, (_request, answer) => answer.writeHead(405, { allow: 'GET' }).end())
  for (const registry of [without, AWAY]) {
    const { status, out } = await audit(registry)
    assert.equal(status, 0)
    assert.match(out, /^AUDIT NOT MADE, the registry did not answer: .*(405|ECONNREFUSED)/)
  }
})

test('the bill of materials names every package that a broker runs with, and is made without the registry', async () => {
  const { status, out, err } = await run(
    root,
    { npm_config_registry: AWAY },
    process.execPath,
    join('scripts', 'sbom.ts'),
  )
  assert.equal(status, 0, err)
  const { bomFormat, metadata, components } = JSON.parse(out)
  assert.deepEqual([bomFormat, metadata.component.name], ['CycloneDX', 'ketch'])
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as Lock
  const { packages: ofConsole } = JSON.parse(await readFile(join(root, 'console/package-lock.json'), 'utf8')) as Lock
  const bundled = bundledPackages(ofConsole)
  const expected = [
    ...Object.entries(packages).filter(([place, { dev }]) => place !== '' && dev !== true),
    ...Object.entries(ofConsole).filter(([place]) => bundled.has(place)),
  ].map(([place, { version }]) => `${place.split('node_modules/').at(-1)}@${version}`)
  for (const name of ['fastify', 'react', 'uplot'])
    assert.ok(
      expected.some(each => each.startsWith(`${name}@`)),
      name,
    )
  assert.ok(!expected.some(each => each.startsWith('vite@')))
  const named = components.map((each: { 'bom-ref': string }) => each['bom-ref'])
  assert.deepEqual(named.sort(), [...new Set(expected)].sort())
})
