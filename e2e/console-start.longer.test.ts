// Tests the first starts of a copy of Ketch, as an operator sees them: the console is built once, and a copy in which
// that is impossible starts without it. packages.all.test.ts installs the console's packages from the registry.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { leastPrivilegeAbsence } from '../testing/least-privilege.ts'
import { copyOfKetch, start } from './copy-of-ketch.ts'

const BROWSER = { accept: 'text/html' }
const AWAY = { npm_config_registry: 'http://127.0.0.1:9/' }

const home = async (url: string) => await fetch(url, { headers: BROWSER })

test('of two starts at the same time one builds the console, and it is built again only after a change of its sources', async t => {
  const copy = await copyOfKetch(t, { packages: 'all' })
  const both = await Promise.all([start(t, copy, { env: AWAY }), start(t, copy, { env: AWAY })])
  assert.deepEqual(both.map(({ said }) => said).sort(), [
    'ketch: another start builds the web console; waiting for it ...\n',
    'ketch: building the web console (once) ...\n',
  ])
  const [first, beside] = both
  assert.match(await (await home(beside.url)).text(), /name="ketch-console"/)
  await beside.stop()
  const page = await home(first.url)
  const html = await page.text()
  assert.equal(page.headers.get('ketch-console'), /name="ketch-console" content="(\w+)"/.exec(html)![1])
  const assets = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path!)
  assert.ok(assets.length >= 3, html)
  for (const path of assets) {
    const answer = await fetch(first.url + path)
    assert.deepEqual([answer.status, (await answer.text()).length > 0], [200, true], path)
    assert.match(answer.headers.get('cache-control')!, /immutable/)
  }
  // Everything in the page comes from files of this server, so the policy needs no exception.
  assert.doesNotMatch(html, /<style|<script(?![^>]* src=)|\sstyle=|\son\w+=/)
  await first.stop()

  const list = join(copy, 'console/dist/files.json')
  const built = await readFile(list, 'utf8')
  const second = await start(t, copy)
  assert.equal(second.said, '')
  await second.stop()
  assert.equal(await readFile(list, 'utf8'), built)

  await writeFile(join(copy, 'console/main.test.ts'), '// A test changes nothing of what is served.\n')
  const page2 = join(copy, 'console/index.html')
  await writeFile(page2, (await readFile(page2, 'utf8')).replace('<title>', '<title>Another '))
  const third = await start(t, copy)
  assert.equal(third.said, 'ketch: building the web console (once) ...\n')
  const changed = await home(third.url)
  assert.notEqual(changed.headers.get('ketch-console'), page.headers.get('ketch-console'))
  assert.match(await changed.text(), /<title>Another /)
  await third.stop()
})

test('without the npm registry the broker starts, says why there is no console, and the page names the command', async t => {
  const copy = await copyOfKetch(t, { packages: 'of the broker' })
  const { url, said, stop } = await start(t, copy, { env: AWAY })
  assert.match(
    said,
    /^ketch: building the web console \(once; needs the npm registry\) \.\.\.\nketch: the web console cannot be built: npm ping: [^\n]*ECONNREFUSED[^\n]*; the broker starts without it\n$/,
  )
  const page = await home(url)
  assert.match(await page.text(), /<code>npm start<\/code>/)
  assert.equal((await home(`${url}/topics`)).status, 503)
  await stop()
})

test('in a read-only folder, and in one without console/, the broker starts and says why there is no console', {
  skip: leastPrivilegeAbsence() ?? false,
}, async t => {
  const copy = await copyOfKetch(t, { packages: 'all' })
  const readOnly = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && cd "$0" && exec "$@"'
  const command = ['unshare', '-m', 'sh', '-c', readOnly, copy, join(copy, 'ketch')]
  const first = await start(t, copy, { command })
  assert.match(first.said, /cannot be built: EROFS: [^\n]*\/console\/[^\n]*; the broker starts without it\n$/)
  await first.stop()
  await rm(join(copy, 'console'), { recursive: true })
  const second = await start(t, copy)
  assert.equal(
    second.said,
    'ketch: the web console cannot be built: this folder has no console/; the broker starts without it\n',
  )
  assert.match(await (await home(second.url)).text(), /<code>npm start<\/code>/)
  await second.stop()
})

test('a broker without the console, and a command, build nothing', async t => {
  const copy = await copyOfKetch(t, { packages: 'all' })
  const { url, said, stop } = await start(t, copy, { settings: ['--svc.ui.enabled=false'] })
  assert.deepEqual([said, (await home(url)).status], ['', 404])
  await stop()
  for (const args of [['--version'], ['--help'], ['topics', '--help'], ['--json', 'topics', '--help']]) {
    const child = spawn(join(copy, 'ketch'), args, { cwd: copy, stdio: ['ignore', 'pipe', 'pipe'] })
    let err = ''
    child.stderr.on('data', chunk => (err += chunk))
    await new Promise(resolve => child.on('close', resolve))
    assert.doesNotMatch(err, /console/, args.join(' '))
  }
  await assert.rejects(readFile(join(copy, 'console/dist/files.json')), { code: 'ENOENT' })
})
