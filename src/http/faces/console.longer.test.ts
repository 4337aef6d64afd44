// Tests the console's face with a small folder in the form of a build. e2e/console-start.longer.test.ts builds the real
// console.

import assert from 'node:assert/strict'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { signInAt } from '../../../testing/admin-client.ts'
import { startBroker } from '../../../testing/broker.ts'
import { type RawAnswer, sendRaw } from '../../../testing/http.ts'
import { temporaryFolder } from '../../../testing/temporary-folder.ts'
import { pages } from '../../api/pages.ts'
import type { Values } from '../../settings/settings.ts'
import { SECURITY_HEADERS } from '../security-headers.ts'

const STAMP = '0123456789abcdef'
const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
const INDEX = `<!doctype html><title>Ketch</title>${'<p>The console.</p>'.repeat(20)}`
const SCRIPT = 'export const shown = true\n'.repeat(100)
const FILES = {
  'index.html': ['text/html; charset=utf-8', INDEX],
  'assets/index-1a2B_-4d.js': ['text/javascript; charset=utf-8', SCRIPT],
  'assets/index-00000000.css': ['text/css; charset=utf-8', 'h1{color:CanvasText}'],
  'assets/icon-00000000.svg': ['image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg"/>'],
} as const
/** The page Topics has two more scripts, and the others have none. */
const SCRIPTS = { '/topics': ['assets/topics-00000000.js', 'assets/recipes-00000000.js'] }
const SCRIPT_PATH = '/assets/index-1a2B_-4d.js'
const PATHS = Object.values(pages).map(({ path }) => path.replaceAll(/:\w+/g, 'x'))

/** Writes a folder in the form of a build. The script and the page have encodings; the other files are too small. */
async function writeBuild(folder: string, stamp = STAMP): Promise<void> {
  await mkdir(join(folder, 'assets'), { recursive: true })
  const files = []
  for (const [path, [mediaType, text]] of Object.entries(FILES)) {
    const encodings = text.length < 100 ? [] : ['br', 'gzip']
    await writeFile(join(folder, path), text)
    if (encodings.length > 0) {
      await writeFile(join(folder, `${path}.br`), brotliCompressSync(text))
      await writeFile(join(folder, `${path}.gz`), gzipSync(text))
    }
    files.push({ path, mediaType, isHashed: path.startsWith('assets/'), encodings, bytes: text.length })
  }
  await writeFile(join(folder, 'files.json'), JSON.stringify({ stamp, files, scripts: SCRIPTS }))
}

async function start(t: TestContext, { isBuilt = true, ...settings }: Partial<Values> & { isBuilt?: boolean } = {}) {
  const consoleFolder = await temporaryFolder(t, 'ketch-console-')
  if (isBuilt) await writeBuild(consoleFolder)
  return { consoleFolder, ...(await startBroker(t, settings, { http: { consoleFolder } })) }
}

/** Sends a request line as it is, because `fetch` would resolve dots and escapes. */
function askRaw(url: string, path: string, headers = '', method = 'GET'): Promise<RawAnswer> {
  return sendRaw(url, `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n`)
}

test('every page of the table is answered with the console, and a name in the path takes any text', async t => {
  const { url } = await start(t)
  const names = ['a', '%2F..%2f', '..%5c', '%00', '%F0%9F%92%A9', 'x'.repeat(2_000), '<script>', '%E2%80%AE', ':topic']
  const named = names.flatMap(name => [`/topics/${name}`, `/topics/${name}/messages`, `/groups/${name}`])
  for (const path of [...PATHS, ...named, '/topics?q=a&offset=b&__proto__=1', '/?x']) {
    const { status, headers, body } = await askRaw(url, path, `Accept: ${BROWSER.accept}\r\n`)
    assert.deepEqual([status, body], [200, INDEX], path)
    const { 'content-type': type, 'ketch-console': stamp, 'cache-control': kept } = headers
    assert.deepEqual([type, stamp, kept], ['text/html; charset=utf-8', STAMP, 'no-store'], path)
  }
})

test('a page names its scripts, so that the browser loads them with the first ones', async t => {
  const { url } = await start(t)
  const linkOf = async (path: string) => (await fetch(url + path, { headers: BROWSER })).headers.get('link')
  const links = '</assets/topics-00000000.js>; rel=modulepreload, </assets/recipes-00000000.js>; rel=modulepreload'
  assert.equal(await linkOf('/topics'), links)
  assert.deepEqual([await linkOf('/'), await linkOf('/topics/orders')], [null, null])
})

test('a page names its first reads for a user who may ask them', async t => {
  const { url } = await start(t, { 'admin.password': 'a long password' })
  const readsOf = async (path: string, cookie = '') => {
    const link = (await fetch(url + path, { headers: { ...BROWSER, cookie } })).headers.get('link') ?? ''
    return [...link.matchAll(/<([^>]+)>; rel=preload; as=fetch; crossorigin/g)].map(([, address]) => address)
  }
  const { cookie, ask } = await signInAt(url, 'admin', 'a long password')
  const capabilities = '/api/v1/capabilities'
  const rows = '/api/v1/topics?sort=name&order=asc&internal=false&offset=0&limit=100'
  assert.deepEqual(await readsOf('/topics', cookie), [rows, capabilities])
  const hostile = `/topics?q=${encodeURIComponent('>; rel=x,\r\n"<é')}&q=a%20b&offset=7&sort=unknown&__proto__=1`
  const filtered = '/api/v1/topics?q=a+b&sort=name&order=asc&internal=false&offset=7&limit=100'
  assert.deepEqual(await readsOf(hostile, cookie), [filtered, capabilities])
  assert.deepEqual(await readsOf('/topics?q=%3E%2C%0A%C3%A9', cookie), [
    '/api/v1/topics?q=%3E%2C%0A%C3%A9&sort=name&order=asc&internal=false&offset=0&limit=100',
    capabilities,
  ])
  // A proxy would refuse the page with a long header, and each of these characters takes three.
  assert.deepEqual(await readsOf(`/topics?q=${'('.repeat(7_000)}`, cookie), [capabilities])
  // The metrics have these rows.
  assert.deepEqual(await readsOf('/topics?sort=produce.bytesPerSecond', cookie), [capabilities])
  assert.deepEqual(await readsOf('/', cookie), [capabilities])
  assert.deepEqual(await readsOf('/topics'), [])
  assert.deepEqual(await readsOf('/topics', 'svc-admin-session=x'), [])
  await ask('POST', '/api/v1/auth/logout')
  assert.deepEqual(await readsOf('/topics', cookie), [])
})

test('programs get the links at the root, and the console on the other pages', async t => {
  const { url } = await start(t)
  const home = await fetch(url)
  assert.equal(home.headers.get('content-type'), 'application/json; charset=utf-8')
  assert.deepEqual([home.headers.get('vary'), home.headers.get('ketch-console')], ['accept', STAMP])
  assert.deepEqual(Object.keys((await home.json()) as object), ['name', 'links', 'guides'])
  const topics = await fetch(`${url}/topics`)
  assert.deepEqual([await topics.text(), topics.headers.get('vary')], [INDEX, 'accept-encoding'])
})

test('the other paths of the pages are answered 404: a problem for programs, a page with a way home for browsers', async t => {
  const { url, log } = await start(t)
  const strange = [
    '/nothing',
    '/topic',
    '/topics/',
    '/topics/a/b/c',
    '/Topics',
    '//',
    '/index.html',
    '/topics//messages',
  ]
  for (const path of [...strange, '/assets', '/assets/', '/files.json', '/.vite/manifest.json', '/favicon.ico']) {
    const program = await askRaw(url, path)
    assert.deepEqual([program.status, JSON.parse(program.body).code], [404, 'NOT_FOUND'], path)
    const browser = await askRaw(url, path, 'Accept: text/html\r\n')
    assert.deepEqual([browser.status, browser.headers['content-type']], [404, 'text/html; charset=utf-8'], path)
    assert.match(browser.body, /<a href="\/">/, path)
    assert.doesNotMatch(browser.body, /<(style|script)|\sstyle=|\son\w+=/, path)
  }
  for (const path of ['/api/v1/nothing', '/api/nothing', '/actuator/nothing', '/v3/api-docs/nothing'])
    assert.equal(
      (await fetch(url + path, { headers: BROWSER })).headers.get('content-type'),
      'application/problem+json',
    )
  const answer = await fetch(`${url}/topics`, { method: 'POST', headers: BROWSER })
  assert.deepEqual([answer.status, answer.headers.get('allow')], [405, 'GET, HEAD'])
  assert.doesNotMatch(log(), / ERROR /)
})

test('a file has its type, may be kept for ever, and has every security header', async t => {
  const { url } = await start(t)
  const { 'cache-control': _, ...security } = SECURITY_HEADERS
  for (const [path, [type, text]] of Object.entries(FILES)) {
    if (path === 'index.html') continue
    const answer = await fetch(`${url}/${path}`)
    assert.deepEqual([answer.status, answer.headers.get('content-type'), await answer.text()], [200, type, text])
    assert.equal(answer.headers.get('cache-control'), 'public, max-age=31536000, immutable')
    for (const [name, value] of Object.entries(security)) assert.equal(answer.headers.get(name), value, path)
  }
  const page = await fetch(url, { headers: BROWSER })
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) assert.equal(page.headers.get(name), value)
})

test('a client gets the encoding that the build made, and the plain bytes if it takes none', async t => {
  const { url } = await start(t)
  const cases = {
    br: 'br',
    'gzip, deflate, br': 'br',
    'gzip, deflate': 'gzip',
    identity: undefined,
    'br;q=0': undefined,
  }
  for (const [accepted, expected] of Object.entries(cases))
    for (const [path, whole] of [
      [SCRIPT_PATH, SCRIPT],
      ['/topics', INDEX],
    ] as const) {
      const { status, headers, body } = await askRaw(url, path, `Accept-Encoding: ${accepted}\r\n`)
      assert.deepEqual([status, headers['content-encoding']], [200, expected], `${path} ${accepted}`)
      assert.match(headers.vary!, /accept-encoding/)
      const sizes = { br: brotliCompressSync(whole).length, gzip: gzipSync(whole).length }
      const bytes = expected === undefined ? whole.length : sizes[expected as 'br']
      assert.deepEqual([Number(headers['content-length']), body.length], [bytes, bytes], `${path} ${accepted}`)
    }
  const { headers } = await askRaw(url, '/assets/index-00000000.css', 'Accept-Encoding: br, gzip\r\n')
  assert.deepEqual([headers['content-encoding'], headers.vary], [undefined, 'accept-encoding'])
  // fetch decodes, and fails if the encoding were labelled wrongly.
  assert.equal(await (await fetch(url + SCRIPT_PATH)).text(), SCRIPT)
})

test('HEAD is answered as GET is, without the body', async t => {
  const { url } = await start(t)
  for (const path of [...PATHS, SCRIPT_PATH, '/assets/none', '/nothing'])
    for (const accept of ['*/*', 'text/html']) {
      const [get, head] = await Promise.all(
        ['GET', 'HEAD'].map(method => askRaw(url, path, `Accept: ${accept}\r\n`, method)),
      )
      assert.deepEqual([head!.status, head!.body], [get!.status, ''], path)
      for (const name of ['content-type', 'content-length', 'ketch-console', 'cache-control', 'vary'])
        assert.equal(head!.headers[name], get!.headers[name], `${path} ${name}`)
    }
})

test('a condition or a range gets the whole file: a browser that has a hashed file does not ask', async t => {
  const { url } = await start(t)
  for (const headers of [
    { 'if-none-match': '*' },
    { 'if-modified-since': new Date().toUTCString() },
    { range: 'bytes=0-9' },
  ])
    for (const path of [SCRIPT_PATH, '/topics']) {
      const answer = await fetch(url + path, { headers })
      assert.deepEqual([answer.status, (await answer.text()).length > 100], [200, true], path)
    }
})

test('no path leads to a file that the build did not name', async t => {
  const { url, consoleFolder } = await start(t)
  await writeFile(join(consoleFolder, 'assets', 'stray-00000000.js'), 'stray')
  const name = SCRIPT_PATH.slice('/assets/'.length)
  const tricks = [
    '../index.html',
    '..%2findex.html',
    '%2e%2e/index.html',
    '%2e%2e%2ffiles.json',
    '..%5cfiles.json',
    `.%2f${name}`,
    `./${name}`,
    `%2f${name}`,
    `/${name}`,
    `${name}/`,
    `${name}%00`,
    `${name}%00.css`,
    `${name}.br`,
    `${name}.gz`,
    `${name.toUpperCase()}`,
    '../../../../etc/passwd',
    '..%2f..%2f..%2f..%2fetc%2fpasswd',
    '%252e%252e%252findex.html',
    'stray-00000000.js',
    '__proto__',
    'constructor',
    'x'.repeat(10_000),
  ]
  for (const trick of tricks) {
    const { status, body } = await askRaw(url, `/assets/${trick}`)
    assert.deepEqual([status, JSON.parse(body).code], [404, 'NOT_FOUND'], trick)
  }
  assert.equal((await askRaw(url, '/assets/%ZZ')).status, 400)
  assert.equal((await askRaw(url, `/assets/${'x'.repeat(100_000)}`)).status, 431)
  // The name itself may be escaped.
  assert.equal((await askRaw(url, '/assets/%69ndex-00000000.css')).status, 200)
})

test('with svc.ui.enabled=false every page and every file is answered 404 with the name of the setting', async t => {
  const { url } = await start(t, { 'ui.enabled': false })
  for (const path of [...PATHS, SCRIPT_PATH]) {
    const program = await fetch(url + path)
    const { code, detail } = (await program.json()) as { code: string; detail: string }
    assert.deepEqual([program.status, code], [404, 'CONSOLE_DISABLED'], path)
    assert.match(detail, /svc\.ui\.enabled=false/)
    const browser = await fetch(url + path, { headers: BROWSER })
    const page = await browser.text()
    assert.deepEqual([browser.status, browser.headers.get('ketch-console')], [404, null], path)
    assert.match(page, /svc\.ui\.enabled=false/)
    assert.doesNotMatch(page, /href="\/"/, 'there is no home to go to')
  }
  assert.equal((await fetch(`${url}/actuator/health`)).status, 200)
})

test('without a built console the pages name the command that builds it, and a console that is built later is served', async t => {
  const { url, consoleFolder, log } = await start(t, { isBuilt: false })
  const welcome = await fetch(url, { headers: BROWSER })
  assert.deepEqual([welcome.status, welcome.headers.get('ketch-console')], [200, null])
  assert.match(await welcome.text(), /<code>npm start<\/code>[^<]*npm registry/)
  for (const path of PATHS.slice(1)) {
    const browser = await fetch(url + path, { headers: BROWSER })
    assert.equal(browser.status, 503, path)
    assert.match(await browser.text(), /npm start/, path)
    const program = await fetch(url + path)
    assert.equal(((await program.json()) as { code: string }).code, 'CONSOLE_NOT_BUILT', path)
  }
  assert.equal((await fetch(url + SCRIPT_PATH)).status, 404)
  await writeBuild(consoleFolder)
  assert.equal(await (await fetch(url, { headers: BROWSER })).text(), INDEX)
  assert.doesNotMatch(log(), / (WARN|ERROR) +svc\.http /)
})

test('a folder that lacks a file, has half of one, or is no build, is logged and counts as no console', async t => {
  const { url, consoleFolder, log } = await start(t)
  const list = join(consoleFolder, 'files.json')
  await rm(join(consoleFolder, 'assets', 'index-00000000.css'))
  assert.equal((await fetch(`${url}/topics`, { headers: BROWSER })).status, 503)
  assert.match(
    log(),
    new RegExp(`WARN +svc\\.http +the web console in ${consoleFolder} cannot be read; [^\n]*00000000\\.css`),
  )
  for (const text of ['', '{', '{"stamp":"0","files":[]}', '{"stamp":"0","files":[{"path":"../x"}]}']) {
    await writeFile(list, text)
    assert.equal((await fetch(`${url}/topics`)).status, 503, text)
  }
  for (const [ending, encode] of [
    ['br', brotliCompressSync],
    ['gz', gzipSync],
  ] as const)
    for (const bytes of [encode(SCRIPT).subarray(0, -9), encode('the file of another build'), Buffer.from('')]) {
      await writeBuild(consoleFolder)
      await writeFile(join(consoleFolder, `assets/index-1a2B_-4d.js.${ending}`), bytes)
      assert.equal((await fetch(`${url}/topics`)).status, 503, `${ending}, ${bytes.length} bytes`)
    }
  await writeBuild(consoleFolder)
  assert.equal((await fetch(`${url}/topics`)).status, 200)
})

test('a console that was read is served as it was, even if a later build replaces or removes its folder', async t => {
  const { url, consoleFolder } = await start(t)
  assert.equal((await fetch(url, { method: 'HEAD' })).headers.get('ketch-console'), STAMP)
  await writeBuild(consoleFolder, 'ffff')
  assert.equal((await fetch(url, { method: 'HEAD' })).headers.get('ketch-console'), STAMP)
  await rm(consoleFolder, { recursive: true })
  const answers = await Promise.all([fetch(`${url}/topics`), fetch(url + SCRIPT_PATH)])
  assert.deepEqual(await Promise.all(answers.map(answer => answer.text())), [INDEX, SCRIPT])
})
