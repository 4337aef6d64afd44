import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { NODE_ENVIRONMENT, NODE_FLAGS } from '../scripts/node24.mjs'
import { askHttp } from '../testing/ask-http.ts'
import { atLength } from '../testing/at-length.ts'
import { makeCertificate, noOpenssl } from '../testing/certificate.ts'
import { writeKeytab } from '../testing/kerberos-client.ts'
import { freePort, startBrokerProcess } from '../testing/process.ts'
import { seed } from '../testing/seed.ts'
import { temporaryFolder } from '../testing/temporary-folder.ts'
import { type Ended, runToEnd } from './command.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const main = join(root, 'src', 'main.ts')

/** Runs the program until it ends, in a folder without a settings file. The start is the same as the launcher's. */
function run(cwd: string, ...args: readonly string[]): Promise<Ended> {
  return runToEnd([process.execPath, ...NODE_FLAGS, main, ...args], { cwd, env: NODE_ENVIRONMENT })
}

async function folder(t: TestContext): Promise<string> {
  const made = await temporaryFolder(t, 'ketch-')
  return made
}

test('an operator’s mistake ends with status 1 and one message without a stack; --help and --version print and end', async t => {
  const cwd = await folder(t)
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => void server.close())
  await new Promise(resolve => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await writeFile(join(cwd, 'file'), '')
  assert.equal(spawnSync('mkfifo', [join(cwd, 'fifo')]).status, 0)
  const cases: [string[], RegExp][] = [
    [['--svc.broker.prot=9092'], /svc\.broker\.prot.*svc\.broker\.port/],
    [['--svc.mcp.enabled=true'], /svc\.mcp\.enabled/],
    [['--svc.broker.host=127.0.0.1', `--svc.broker.port=${port}`], new RegExp(`127\\.0\\.0\\.1:${port}.*taken`)],
    [['--svc.storage.local.embedded.path=file'], /file/],
    [['--config=fifo'], /--config: got 'fifo', but it is a FIFO/],
  ]
  const helping = Promise.all([run(cwd, '--help'), run(cwd, '--version')])
  const ended = await Promise.all(cases.map(([args]) => run(cwd, ...args)))
  for (const [at, [args, expected]] of cases.entries()) {
    const { status, err } = ended[at]!
    assert.equal(status, 1, `${args}: ${err}`)
    assert.match(err, /^ketch: [^\n]+\n$/)
    assert.match(err, expected)
  }
  const [help, version] = await helping
  assert.deepEqual([help.status, version.status], [0, 0])
  assert.match(help.out, /svc\.broker\.port/)
  assert.ok(help.out.split('\n').length < 66)
  assert.match(version.out, /^ketch \d+\.\d+\.\d+\n$/)
})

test('each mistake in the security of the Kafka port ends the start with its sentence', {
  skip: noOpenssl,
}, async t => {
  const cwd = await folder(t)
  const { certificateFile, keyFile } = await makeCertificate(t)
  await writeFile(join(cwd, 'kafka.keytab'), 'no keytab')
  const other = { principal: 'http/broker.test@KETCH.TEST', kvno: 1, enctype: 18, bytes: Buffer.alloc(32, 1) }
  await writeFile(join(cwd, 'other.keytab'), writeKeytab([other]), { mode: 0o600 })
  const tls = ['tls=true', `cert-file=${certificateFile}`, `key-file=${keyFile}`]
  const sasl = (mechanism: string, ...more: readonly string[]) => [
    'sasl.enabled=true',
    `sasl.mechanisms=${mechanism}`,
    ...more.map(each => `sasl.${each}`),
  ]
  const kerberos = (...more: readonly string[]) => sasl('GSSAPI', ...more.map(each => `gssapi.${each}`))
  const principal = 'principal=kafka/broker.test@KETCH.TEST'
  const cases: readonly (readonly [said: string | RegExp, settings: readonly string[]])[] = [
    ['svc.broker.sasl: PLAIN mechanism requires svc.broker.tls=true', sasl('PLAIN')],
    ['svc.broker.sasl: OAUTHBEARER mechanism requires svc.broker.tls=true', sasl('OAUTHBEARER')],
    [/^svc\.broker\.acl\.enabled: got true .*svc\.broker\.sasl\.enabled=true/, ['acl.enabled=true']],
    [/OAUTHBEARER.*svc\.broker\.sasl\.oauth\.issuer-uri/, [...tls, ...sasl('OAUTHBEARER')]],
    [
      /OAUTHBEARER.*svc\.broker\.sasl\.oauth\.audience/,
      [...tls, ...sasl('OAUTHBEARER', 'oauth.issuer-uri=https://id.example')],
    ],
    [/GSSAPI.*svc\.broker\.sasl\.gssapi\.keytab-file/, kerberos(principal)],
    [/GSSAPI.*svc\.broker\.sasl\.gssapi\.principal/, kerberos('keytab-file=kafka.keytab')],
    [
      /^svc\.broker\.sasl\.gssapi\.keytab-file .*kafka\.keytab is not a keytab$/,
      kerberos('keytab-file=kafka.keytab', principal),
    ],
    [
      /^svc\.broker\.sasl\.gssapi\.keytab-file .*has no key of kafka\/broker\.test@KETCH\.TEST; it has keys of http/,
      kerberos('keytab-file=other.keytab', principal),
    ],
    [
      /^svc\.broker\.sasl\.gssapi\.principal .*: alice is not a principal of a service/,
      kerberos('keytab-file=other.keytab', 'principal=alice'),
    ],
    [/^svc\.broker\.sasl\.mechanisms: got an empty list/, ['sasl.mechanisms=']],
    [/^svc\.broker\.sasl\.mechanisms: got 'SCRAM-SHA-512'/, ['sasl.mechanisms=SCRAM-SHA-512']],
    [/svc\.broker\.sasl\.enabld/, ['sasl.enabld=true']],
    [/^svc\.broker\.tls: got true .*svc\.broker\.cert-file/, ['tls=true']],
    [/svc\.broker\.client-auth-required.*svc\.broker\.trust-cert-file/, [...tls, 'client-auth-required=true']],
  ]
  const own = ['host=127.0.0.1', `port=${await freePort()}`]
  // Each is a start of its own. `npm test` takes every third one.
  for (const [said, settings] of cases.filter((_, at) => atLength(true, (at + seed) % 3 === 0))) {
    const given = [...own, ...settings].map(each => `--svc.broker.${each}`)
    const { status, err } = await run(cwd, '--server.address=127.0.0.1', '--server.port=0', ...given)
    assert.equal(status, 1, `${settings}: ${err}`)
    const [, sentence] = /^ketch: ([^\n]+)\n$/.exec(err)!
    if (typeof said === 'string') assert.equal(sentence, said)
    else assert.match(sentence!, said)
  }
})

test('a broker logs its folder and its settings file, wherever it is started', async t => {
  const cwd = await folder(t)
  const listening = [
    '--svc.broker.host=127.0.0.1',
    '--server.address=127.0.0.1',
    `--svc.broker.port=${await freePort()}`,
  ]
  const begun = async () => {
    const child = spawn(join(root, 'ketch'), [...listening, '--server.port=0'], {
      cwd,
      env: { PATH: process.env.PATH },
    })
    let out = ''
    child.stdout.on('data', chunk => {
      out += chunk
      if (/Kafka clients connect/.test(out)) child.kill('SIGTERM')
    })
    await once(child, 'close')
    return out
  }
  const without = await begun()
  assert.match(without, new RegExp(`embedded store in ${cwd}/data`))
  assert.match(without, /no settings file is read: this folder has no svc\.yaml/)
  await writeFile(join(cwd, 'svc.yaml'), 'svc:\n  namespace: other\n')
  assert.match(await begun(), new RegExp(`the settings file is ${cwd}/svc\\.yaml`))
})

test('the first line names the engine and the key, and SIGTERM ends with status 0', async t => {
  const broker = await startBrokerProcess(t)
  assert.match(broker.output().split('\n')[0]!, /embedded.*svc\.storage\.local\.engine/)
  assert.match(broker.output(), new RegExp(`Kafka clients connect to ${broker.address}`))
  assert.equal(await broker.kill('SIGTERM'), 0)
})

test('without agent tools a broker loads nothing of them, and nothing of their SDK', async t => {
  const ofAgents = async (settings: Readonly<Record<string, string>>) => {
    const nodeFlags = [`--import=${new URL('../testing/loaded.mjs', import.meta.url)}`]
    const broker = await startBrokerProcess(t, { settings, nodeFlags })
    assert.equal(await broker.kill('SIGTERM'), 0)
    const loaded: readonly string[] = JSON.parse(/^loaded (.*)$/m.exec(broker.output())![1]!)
    assert.ok(loaded.some(url => url.endsWith('/src/broker.ts')))
    return loaded.filter(url => /\/src\/mcp\/|\/@modelcontextprotocol\//.test(url))
  }
  assert.deepEqual(await ofAgents({ 'svc.mcp.enabled': 'false' }), [])
  const withTools = await ofAgents({ 'svc.mcp.enabled': 'true', 'svc.mcp.token': 'a-token-of-more-than-32-characters' })
  for (const part of ['/src/mcp/endpoint.ts', '/@modelcontextprotocol/server/'])
    assert.ok(
      withTools.some(url => url.includes(part)),
      part,
    )
})

test('a broker that every machine can reach without credentials warns in its log and in health', async t => {
  const { output, url, kill } = await startBrokerProcess(t, {
    settings: {
      'svc.broker.host': '0.0.0.0',
      'server.address': '0.0.0.0',
      'server.port': String(await freePort()),
      'svc.admin.security-enabled': 'false',
    },
  })
  const { details } = await askHttp(url)<{ details: { components: Readonly<Record<string, unknown>> } }>(
    '/api/v1/health',
  )
  await kill('SIGKILL')
  assert.match(
    output(),
    / WARN +svc\.broker {2}the Kafka listener \S+ on 0\.0\.0\.0 takes clients without credentials /,
  )
  assert.match(
    output(),
    / WARN +svc\.broker {2}INSECURE: svc\.admin\.security-enabled=false, and the admin API answers on 0\.0\.0\.0: /,
  )
  assert.deepEqual(details.components.adminSecurity, {
    status: 'UP',
    details: {
      isEnabled: false,
      address: '0.0.0.0',
      warning: 'INSECURE: every client that reaches 0.0.0.0 may do everything (svc.admin.security-enabled=false).',
    },
  })
})

/**
 * Starts the broker by a command, in a process group of its own. When the broker listens, sends a signal to
 * receiver(pid); a negative number is the group.
 */
async function stopOnceUp(
  t: TestContext,
  [program, ...args]: readonly string[],
  receiver: (pid: number) => number,
  signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM',
) {
  const settings = {
    ...{ 'svc.broker.host': '127.0.0.1', 'svc.broker.port': '0', 'server.address': '127.0.0.1', 'server.port': '0' },
    'svc.storage.local.embedded.path': await folder(t),
  }
  const options = Object.entries(settings).map(([key, value]) => `--${key}=${value}`)
  const child = spawn(program!, [...args, ...options], { cwd: root, detached: true })
  let hasClosed = false
  // The output stays open while a process of the group is alive.
  const closed = new Promise<void>(resolve =>
    child.on('close', () => {
      hasClosed = true
      resolve()
    }),
  )
  t.after(() => hasClosed || process.kill(-child.pid!, 'SIGKILL'))
  let out = ''
  child.stdout.on('data', chunk => {
    const wasUp = out.includes('Kafka clients')
    out += chunk
    if (!wasUp && out.includes('Kafka clients')) process.kill(receiver(child.pid!), signal)
  })
  await closed
  return { status: child.exitCode, out }
}

test('a signal to the launcher and its broker together is one signal: the broker drains', async t => {
  const launcher = [process.execPath, join(root, 'scripts', 'start.mjs')]
  const { status, out } = await stopOnceUp(t, launcher, pid => -pid)
  assert.equal(status, 0, out)
  assert.match(out, / closed\n$/)
})

test('a signal to npm alone, as a supervisor sends it, reaches the broker', async t => {
  const { out } = await stopOnceUp(t, ['npm', 'start', '--'], pid => pid)
  assert.match(out, / closed\n$/)
})

test('a broker whose launcher is killed does not keep running: it drains', async t => {
  const launcher = [process.execPath, join(root, 'scripts', 'start.mjs')]
  const { out } = await stopOnceUp(t, launcher, pid => pid, 'SIGKILL')
  assert.match(out, / closed\n$/)
})

test('a broker whose log is no longer read goes on, and reports that once', async t => {
  const options = [
    '--svc.broker.host=127.0.0.1',
    '--svc.broker.port=0',
    '--server.address=127.0.0.1',
    '--server.port=0',
  ]
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, ...options], {
    cwd: await folder(t),
  })
  t.after(() => child.kill('SIGKILL'))
  let [out, err] = ['', '']
  const url = await new Promise<string>(resolve => {
    child.stdout.on('data', chunk => {
      out += chunk
      const [, found] = /the admin API answers at (\S+)/.exec(out) ?? []
      if (found !== undefined && out.includes('Kafka clients')) resolve(found)
    })
  })
  child.stderr.on('data', chunk => {
    err += chunk
  })
  child.stdout.destroy()
  const signIn = async () => {
    const body = JSON.stringify({ username: 'stranger', password: 'is no password' })
    const headers = { 'content-type': 'application/json' }
    return (await fetch(`${url}/api/v1/auth/login`, { method: 'POST', headers, body })).status
  }
  // Each sign-in writes a log line.
  for (let i = 0; i < 3; i++) assert.equal(await signIn(), 401)
  const ended = new Promise(resolve => child.on('close', resolve))
  child.kill('SIGTERM')
  assert.equal(await ended, 0, err)
  assert.equal(err.match(/the log cannot be written to the standard output: .*EPIPE/g)?.length, 1, err)
})
