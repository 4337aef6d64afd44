// Tests of loadSettings: sources, precedence, grammar, checks and the texts of its errors, with valid and with
// hostile settings.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadSettings } from './load.ts'
import type { Key, Settings } from './settings.ts'
import { fullKey, keys, SettingsError, settingsTable } from './settings.ts'
import { environmentName } from './sources.ts'

interface Given {
  readonly argv?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** The text of ./svc.yaml; absent when there is no such file. */
  readonly file?: string
  readonly files?: Readonly<Record<string, string | Error>>
}

function load({ argv = [], env = {}, file, files = {} }: Given): Settings {
  const all: Readonly<Record<string, string | Error>> = file === undefined ? files : { ...files, '/cwd/svc.yaml': file }
  const readFile = (path: string) => {
    const found = all[path]
    if (found instanceof Error) throw found
    if (found === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
    return Buffer.from(found)
  }
  return loadSettings({ argv, env, cwd: '/cwd', readFile })
}

function refusal(given: Given): string {
  try {
    load(given)
  } catch (error) {
    assert(error instanceof SettingsError, `a SettingsError, not ${String(error)}`)
    assert(!error.message.includes('\n'), `one line: ${error.message}`)
    return error.message
  }
  throw new assert.AssertionError({ message: `was accepted: ${JSON.stringify(given)}` })
}

/** Asserts that each source refuses the value, and that the message names the key, the value and the origin. */
function refusedEverywhere(key: Key, text: string, expected: string): void {
  const full = fullKey(key)
  const variable = environmentName(full)
  const said = text.trim() === '' ? 'got nothing' : `got '${text}'`
  const cases: readonly [Given, string][] = [
    [{ argv: [`--${full}=${text}`] }, 'command line'],
    [{ env: { [variable]: text } }, `environment variable ${variable}`],
    [{ file: `${full}: ${JSON.stringify(text)}\n` }, './svc.yaml:1:'],
  ]
  for (const [given, origin] of cases) {
    const message = refusal(given)
    for (const part of [`${full}: ${said}`, expected, `from ${origin}`]) {
      assert(message.includes(part), `'${message}' names '${part}'`)
    }
  }
}

test('without any source every key has its default', () => {
  const settings = load({})
  assert.equal(settings.get('broker.port'), 9092)
  assert.equal(settings.get('broker.drain-timeout'), 5000)
  assert.equal(settings.get('broker.max-request-bytes'), 100 * 2 ** 20)
  assert.equal(settings.get('broker.advertised-host'), null)
  assert.deepEqual(settings.get('broker.sasl.mechanisms'), ['SCRAM-SHA-256'])
  assert.deepEqual(settings.get('topics'), [])
  assert.equal(settings.get('server.port'), 8080)
  assert.equal(settings.origin('broker.port'), 'default')
  assert.equal(settings.isSet('broker.port'), false)
  for (const key of keys) assert.notEqual(settings.get(key), undefined, key)
})

test('the command line beats the environment, which beats the file, and each override is reported once without values', () => {
  const file = 'svc:\n  broker:\n    port: 9001\n    id: 1\n  admin:\n    password: from-file\n'
  const settings = load({
    file,
    env: { SVC_BROKER_PORT: '9002', SVC_BROKER_ID: '2', SVC_ADMIN_PASSWORD: 'from-environment' },
    argv: ['--svc.broker.port=9003'],
  })
  assert.equal(settings.get('broker.port'), 9003)
  assert.equal(settings.get('broker.id'), 2)
  assert.equal(settings.get('admin.password'), 'from-environment')
  assert.equal(settings.origin('broker.port'), 'command line')
  assert.equal(settings.origin('broker.id'), 'environment variable SVC_BROKER_ID')
  assert.deepEqual([...settings.overrides].sort(), [
    'svc.admin.password: environment variable SVC_ADMIN_PASSWORD overrides ./svc.yaml:6:15',
    'svc.broker.id: environment variable SVC_BROKER_ID overrides ./svc.yaml:4:9',
    'svc.broker.port: command line overrides environment variable SVC_BROKER_PORT',
    'svc.broker.port: environment variable SVC_BROKER_PORT overrides ./svc.yaml:3:11',
  ])
})

test('--config beats SVC_CONFIG, which beats ./svc.yaml', () => {
  const files = {
    '/cwd/a.yaml': 'svc.broker.id: 1',
    '/etc/b.yaml': 'svc.broker.id: 2',
    '/cwd/svc.yaml': 'svc.broker.id: 3',
  }
  assert.equal(load({ files }).get('broker.id'), 3)
  assert.equal(load({ files, env: { SVC_CONFIG: '/etc/b.yaml' } }).get('broker.id'), 2)
  assert.equal(load({ files, env: { SVC_CONFIG: '/etc/b.yaml' }, argv: ['--config=a.yaml'] }).get('broker.id'), 1)
  assert.equal(load({ files, argv: ['--config', 'a.yaml'] }).get('broker.id'), 1)
})

test('a settings file that is named must exist and be readable', () => {
  assert.equal(refusal({ argv: ['--config=no.yaml'] }), "--config: got 'no.yaml', but there is no such file")
  assert.equal(
    refusal({ env: { SVC_CONFIG: '/no.yaml' } }),
    "environment variable SVC_CONFIG: got '/no.yaml', but there is no such file",
  )
  assert.match(refusal({ env: { SVC_CONFIG: '' } }), /SVC_CONFIG: got nothing/)
  const denied = Object.assign(new Error('denied'), { code: 'EACCES' })
  assert.equal(refusal({ files: { '/cwd/svc.yaml': denied } }), './svc.yaml: it cannot be read (EACCES)')
})

test('nested keys, dotted keys and both together mean the same', () => {
  for (const file of [
    'svc:\n  broker:\n    sasl:\n      enabled: false\n    port: 9001',
    'svc.broker.port: 9001',
    'svc:\n  broker.port: 9001',
    'svc.broker: { port: "9001" }',
  ]) {
    assert.equal(load({ file }).get('broker.port'), 9001, file)
  }
})

test('a file that is empty, or has only comments, sets nothing', () => {
  for (const file of ['', '\n# nothing\n', 'svc:\n', 'svc:\n  broker:\n  # port: 1\n', 'svc: {}\n', 'logging:\n']) {
    assert.equal(load({ file }).isSet('broker.port'), false)
  }
})

test('an unknown key fails, names its source and the nearest key, and never shows its value', () => {
  const cases: readonly [Given, string, string, string][] = [
    [{ argv: ['--svc.broker.prot=hunter2'] }, 'svc.broker.prot', 'svc.broker.port', 'command line'],
    [{ argv: ['--svc.broker.Port=hunter2'] }, 'svc.broker.Port', 'svc.broker.port', 'command line'],
    [{ argv: ['--server.prot=hunter2'] }, 'server.prot', 'server.port', 'command line'],
    [
      { env: { SVC_REDIS_PASSWROD: 'hunter2' } },
      'SVC_REDIS_PASSWROD',
      'SVC_REDIS_PASSWORD',
      'environment variable SVC_REDIS_PASSWROD',
    ],
    [
      { env: { svc_broker_port: 'hunter2' } },
      'svc_broker_port',
      'SVC_BROKER_PORT',
      'environment variable svc_broker_port',
    ],
    [{ env: { SVC_CONFG: 'hunter2' } }, 'SVC_CONFG', 'SVC_CONFIG', 'environment variable SVC_CONFG'],
    [
      { env: { SVC_TOPICS_0_PARTITONS: 'hunter2' } },
      'SVC_TOPICS_0_PARTITONS',
      'SVC_TOPICS_0_PARTITIONS',
      'environment',
    ],
    [{ file: 'svc:\n  brokr:\n    port: hunter2' }, 'svc.brokr.port', 'svc.broker.port', './svc.yaml:3:11'],
    [{ argv: ['--svc.broker.sasl=hunter2'] }, 'svc.broker.sasl', 'svc.broker.sasl.enabled', 'command line'],
    [{ file: 'svc.broker.tls.enabled: hunter2' }, 'svc.broker.tls.enabled', 'svc.broker.tls', './svc.yaml:1:25'],
    [{ env: { SVC_BROKER_ACL: 'hunter2' } }, 'SVC_BROKER_ACL', 'SVC_BROKER_ACL_ENABLED', 'environment'],
    [{ env: { SVC_BROKER_TLS_ENABLED: 'hunter2' } }, 'SVC_BROKER_TLS_ENABLED', 'SVC_BROKER_TLS', 'environment'],
    [{ file: 'svc:\n  topics:\n  - nam: hunter2' }, 'svc.topics[0].nam', 'svc.topics[0].name', './svc.yaml:3:10'],
  ]
  for (const [given, name, near, origin] of cases) {
    const message = refusal(given)
    for (const part of [`${name}: not a setting; the nearest known one is ${near}`, origin])
      assert(message.includes(part), `'${message}' names '${part}'`)
    assert(!message.includes('hunter2'), message)
  }
})

test('the settings have the absolute path of the file that was read, and null without a file', () => {
  assert.equal(load({}).file, null)
  assert.equal(load({ file: 'svc.broker.port: 1\n' }).file, '/cwd/svc.yaml')
  assert.equal(load({ argv: ['--config=other.yaml'], files: { '/cwd/other.yaml': '' } }).file, '/cwd/other.yaml')
})

test('an unknown key that resembles no known key is refused without a suggestion', () => {
  const cases: readonly [Given, string, string][] = [
    [{ argv: ['--svc.x=hunter2'] }, 'svc.x', 'command line'],
    [{ env: { SVC_X: 'hunter2' } }, 'SVC_X', 'environment variable SVC_X'],
    [{ file: 'spring.application.name: hunter2' }, 'spring.application.name', './svc.yaml:1:26'],
    [{ file: 'svc.broker.max-partitions: hunter2' }, 'svc.broker.max-partitions', './svc.yaml'],
    [{ file: 'svc: hunter2' }, 'svc', './svc.yaml:1:6'],
  ]
  for (const [given, name, origin] of cases) {
    const message = refusal(given)
    for (const part of [`${name}: not a setting; ketch --help settings lists them`, origin])
      assert(message.includes(part), `'${message}' names '${part}'`)
    assert(!message.includes('hunter2'), message)
  }
})

test('environment variables of the other families are ignored if no key has their name', () => {
  const settings = load({
    env: { SERVER_PORT: '8081', SERVER_NAME: 'x', LOGGING_DIR: 'x', MANAGEMENT_X: 'x', PATH: 'x' },
  })
  assert.equal(settings.get('server.port'), 8081)
})

test('our own settings of the HTTP port begin with svc, those of the server family do not', () => {
  const settings = load({ env: { SVC_SERVER_CERT_FILE: 'c', SERVER_ADDRESS: '::1' } })
  assert.deepEqual([settings.get('server.cert-file'), settings.get('server.address')], ['c', '::1'])
  assert.match(refusal({ argv: ['--server.cert-file=c'] }), /^server\.cert-file: not a setting/)
})

test('durations and sizes have one exact grammar', () => {
  for (const text of [
    '10',
    '10 s',
    '1h30m',
    '-5s',
    '1e3ms',
    'P1D',
    '5S',
    ' 5s',
    '5s ',
    '1.5s',
    '٥s',
    's',
    '99999999999999999d',
    '',
  ]) {
    refusedEverywhere('broker.drain-timeout', text, 'a duration: digits and one of ms, s, m, h, d')
  }
  for (const text of ['1mb', '1 MB', '1.5MB', '-1', '1M', '1KiB', '1MB ', 'MB', '0x10', '1e6', '']) {
    refusedEverywhere('broker.max-request-bytes', text, 'a data size: digits and one of B, KB, MB, GB, TB')
  }
  const durations: readonly [string, number][] = [
    ['500ms', 500],
    ['30s', 30_000],
    ['5m', 300_000],
    ['1h', 3_600_000],
    ['1d', 86_400_000],
    ['0', 0],
    ['0s', 0],
  ]
  for (const [text, ms] of durations)
    assert.equal(load({ argv: [`--svc.broker.drain-timeout=${text}`] }).get('broker.drain-timeout'), ms)
  const sizes: readonly [string, number][] = [
    ['2048B', 2048],
    ['64KB', 65_536],
    ['1MB', 2 ** 20],
    ['1GB', 2 ** 30],
    ['4096', 4096],
  ]
  for (const [text, bytes] of sizes)
    assert.equal(load({ file: `svc.broker.max-request-bytes: ${text}` }).get('broker.max-request-bytes'), bytes)
})

test('bounds hold', () => {
  const cases: readonly [Key, string, string][] = [
    ['admin.metrics-history.interval', '0s', 'at least 1ms'],
    ['storage.local.compression.dictionary.sample-count', '99', 'from 100 to'],
    ['max-partitions-per-topic', '0', 'from 1 to'],
    ['broker.id', '-1', 'from 0 to 2147483647'],
    ['broker.id', '2147483648', 'from 0 to 2147483647'],
    ['broker.id', '1e3', 'an integer'],
    ['broker.in-flight-limit', '', 'an integer'],
    ['broker.enabled', 'yes', 'true or false'],
    ['broker.enabled', 'TRUE', 'true or false'],
    ['broker.stack', 'Netty', 'one of netty, reactor_netty'],
    ['storage.local.engine', 'rocksdb', 'one of auto, redis, embedded'],
    ['logging.structured.format.console', 'ecs', 'one of logstash'],
  ]
  for (const [key, text, takes] of cases) refusedEverywhere(key, text, takes)
})

test('numbers in YAML are parsed as they are written', () => {
  for (const text of ['0x10', '1e3', '9092.0', '0o17', '1_000', 'true', '.inf']) {
    assert.match(refusal({ file: `svc.broker.port: ${text}` }), /svc\.broker\.port: got '.*', takes a TCP port/)
  }
})

test('ports are from 1 to 65535, and each listener has its own', () => {
  for (const text of ['65536', '9092x', '-1', '', '1.0'])
    refusedEverywhere('broker.port', text, 'a TCP port from 1 to 65535')
  assert.match(
    refusal({ argv: ['--svc.broker.port=0'] }),
    /^svc\.broker\.port: got 0 \(command line\), takes a TCP port from 1 to 65535/,
  )
  assert.match(refusal({ env: { SERVER_PORT: '0' } }), /^server\.port: got 0/)
  assert.match(
    refusal({ argv: ['--svc.broker.advertised-port=0', '--svc.broker.host=127.0.0.1'] }),
    /advertised-port: got 0/,
  )
  assert.equal(load({ argv: ['--svc.broker.port=0', '--svc.broker.host=127.0.0.1'] }).get('broker.port'), 0)
  assert.equal(
    refusal({ argv: ['--svc.schema-registry.port=8080'] }),
    'svc.schema-registry.port: got 8080 (command line), which server.port (default) has too; each takes a port of its own',
  )
  assert.equal(
    load({ argv: ['--svc.schema-registry.port=8080', '--svc.schema-registry.enabled=false'] }).get('server.port'),
    8080,
  )
  assert.equal(
    refusal({ argv: ['--svc.broker.port=8080'] }),
    'server.port: got 8080 (default), which svc.broker.port (command line) has too; each takes a port of its own',
  )
  const twice = 'svc.broker.listeners: [{ name: a, port: 9092 }]'
  assert.match(
    refusal({ file: twice }),
    /^svc\.broker\.listeners\[0\]\.port: got 9092 \(\.\/svc\.yaml:1:41\), which svc\.broker\.port/,
  )
  assert.equal(
    load({ argv: ['--svc.broker.port=8080', '--svc.broker.host=127.0.0.1', '--server.address=127.0.0.2'] }).get(
      'broker.port',
    ),
    8080,
  )
})

test('the advertised host is a bare host', () => {
  for (const text of [
    '',
    ' ',
    'http://broker',
    'broker:9092',
    '::1',
    '[::1]:9092',
    '1.2.3',
    '256.1.1.1',
    '-x',
    'a b',
    'ho/st',
    '[x]',
  ]) {
    refusedEverywhere('broker.advertised-host', text, 'without scheme and without port')
  }
  assert.match(refusal({ file: 'svc.broker.advertised-host:\n' }), /svc\.broker\.advertised-host: got nothing/)
  const good: readonly [string, string][] = [
    ['broker-1.example.com', 'broker-1.example.com'],
    ['10.0.0.1', '10.0.0.1'],
    ['[::1]', '::1'],
    ['my_host', 'my_host'],
  ]
  for (const [text, host] of good)
    assert.equal(load({ argv: [`--svc.broker.advertised-host=${text}`] }).get('broker.advertised-host'), host)
})

/** Returns options for a second listener, on an address that other machines can reach. */
function secondListener(security: string): readonly string[] {
  return ['name=second', 'port=9093', 'host=0.0.0.0', `security=${security}`].map(
    field => `svc.broker.listeners[0].${field}`,
  )
}

test('settings that do not go together fail, and the message names both keys', () => {
  const cases: readonly [readonly string[], readonly string[]][] = [
    [
      ['svc.broker.resume-pending-bytes=100MB'],
      ['svc.broker.resume-pending-bytes: got 100MB (command line)', 'svc.broker.max-pending-bytes (100MB, default)'],
    ],
    [
      ['svc.broker.max-pending-bytes=1MB'],
      ['svc.broker.resume-pending-bytes: got 50MB (default)', 'svc.broker.max-pending-bytes (1MB, command line)'],
    ],
    [
      ['svc.broker.global-resume-pending-bytes=400MB'],
      ['svc.broker.global-resume-pending-bytes', 'svc.broker.global-max-pending-bytes'],
    ],
    [
      ['svc.storage.worker.lease-duration=1m'],
      ['svc.storage.worker.tick-interval', 'svc.storage.worker.lease-duration'],
    ],
    [
      ['svc.admin.metrics-history.interval=1ms'],
      ['svc.admin.metrics-history.retention', 'svc.admin.metrics-history.interval', 'takes at most 10000'],
    ],
    [
      ['svc.admin.metrics-history.interval=2h'],
      ['svc.admin.metrics-history.retention', 'svc.admin.metrics-history.interval'],
    ],
    [
      ['svc.admin.login-throttle.initial-lockout=1h'],
      ['svc.admin.login-throttle.initial-lockout', 'svc.admin.login-throttle.max-lockout'],
    ],
    [['svc.redis.metrics.min-latency=5m'], ['svc.redis.metrics.min-latency', 'svc.redis.metrics.max-latency']],
    [
      ['svc.storage.local.redis.metrics.min-latency=5m'],
      ['svc.storage.local.redis.metrics.min-latency', 'svc.storage.local.redis.metrics.max-latency'],
    ],
    [['svc.redis.uri=redis://h?db=1'], ['svc.redis.uri', 'takes no ?']],
    [['svc.storage.local.redis.uri=redis://h/x'], ['svc.storage.local.redis.uri', 'number of a database']],
    [
      ['svc.redis.uri=redis://h', 'svc.storage.local.redis.host=s'],
      ['svc.storage.local.redis.host', 'svc.redis.uri', 'set svc.storage.local.redis.uri instead'],
    ],
    [
      ['svc.redis.uri=redis://h/1', 'svc.redis.cluster=true'],
      ['svc.redis.uri: got database 1', 'database 0 only'],
    ],
    [
      ['svc.redis.timeout=1s', 'svc.storage.local.write.wait-replicas=1', 'svc.redis.host=h'],
      ['svc.storage.local.write.wait-timeout', 'svc.redis.timeout'],
    ],
    [
      ['svc.broker.group-min-session-timeout=1h'],
      ['svc.broker.group-min-session-timeout', 'svc.broker.group-max-session-timeout'],
    ],
    [['svc.broker.sasl.mechanisms='], ['svc.broker.sasl.mechanisms: got an empty list', 'at least one']],
    [['svc.broker.sasl.mechanisms=PLAIN,PLAIN'], ['svc.broker.sasl.mechanisms', 'PLAIN is in the list twice']],
    [
      ['svc.broker.sasl.mechanisms=SCRAM-SHA-512'],
      ["svc.broker.sasl.mechanisms: got 'SCRAM-SHA-512'", 'SCRAM-SHA-256, PLAIN, OAUTHBEARER, GSSAPI'],
    ],
    [['svc.broker.acl.enabled=true'], ['svc.broker.acl.enabled', 'svc.broker.sasl.enabled=true']],
    [
      ['svc.broker.sasl.enabled=true', 'svc.broker.sasl.mechanisms=GSSAPI'],
      ['GSSAPI', 'svc.broker.sasl.gssapi.keytab-file'],
    ],
    [
      ['svc.broker.sasl.enabled=true', 'svc.broker.sasl.mechanisms=GSSAPI', 'svc.broker.sasl.gssapi.keytab-file=k'],
      ['GSSAPI', 'svc.broker.sasl.gssapi.principal'],
    ],
    [
      ['svc.broker.sasl.enabled=true', 'svc.broker.sasl.mechanisms=OAUTHBEARER', 'svc.broker.tls=true'],
      ['OAUTHBEARER', 'svc.broker.sasl.oauth.issuer-uri'],
    ],
    [
      [
        ...['svc.broker.sasl.enabled=true', 'svc.broker.sasl.mechanisms=OAUTHBEARER', 'svc.broker.tls=true'],
        'svc.broker.sasl.oauth.issuer-uri=https://id.example',
      ],
      ['OAUTHBEARER', 'svc.broker.sasl.oauth.audience'],
    ],
    [['svc.broker.tls=true'], ['svc.broker.tls', 'svc.broker.cert-file']],
    [
      ['svc.broker.tls=true', 'svc.broker.cert-file=c'],
      ['svc.broker.tls', 'svc.broker.key-file'],
    ],
    [['svc.server.tls=true'], ['svc.server.tls', 'svc.server.cert-file']],
    [
      ['svc.server.tls=true', 'svc.server.cert-file=c'],
      ['svc.server.tls', 'svc.server.key-file'],
    ],
    [['svc.broker.client-auth-required=true'], ['svc.broker.client-auth-required', 'svc.broker.trust-cert-file']],
    [
      ['svc.broker.client-auth-required=true', 'svc.broker.trust-cert-file=c'],
      ['svc.broker.client-auth-required', 'svc.broker.tls=true'],
    ],
    [
      secondListener('tls'),
      ['svc.broker.listeners[0].security: got tls (command line)', 'svc.broker.cert-file, which is not set'],
    ],
    [
      [...secondListener('sasl-tls'), 'svc.broker.cert-file=c'],
      ['svc.broker.listeners[0].security: got sasl-tls (command line)', 'svc.broker.key-file, which is not set'],
    ],
    [
      [...secondListener('sasl-plaintext'), 'svc.broker.sasl.mechanisms=GSSAPI'],
      ['GSSAPI', 'svc.broker.sasl.gssapi.keytab-file'],
    ],
    [
      [
        ...secondListener('sasl-tls'),
        'svc.broker.cert-file=c',
        'svc.broker.key-file=k',
        'svc.broker.sasl.mechanisms=OAUTHBEARER',
      ],
      ['OAUTHBEARER', 'svc.broker.sasl.oauth.issuer-uri'],
    ],
    [['svc.admin.oauth.enabled=true'], ['svc.admin.oauth.enabled', 'svc.admin.oauth.issuer-uri']],
    [
      [
        'svc.admin.oauth.enabled=true',
        'svc.admin.oauth.issuer-uri=https://i',
        'svc.admin.oauth.client-id=c',
        'svc.admin.oauth.audience=a',
      ],
      ['svc.admin.oauth.roles.admin-group', 'svc.admin.oauth.roles.viewer-group'],
    ],
    [['svc.mcp.enabled=true'], ['svc.mcp.enabled', 'svc.mcp.token']],
    [
      ['svc.topics[0].name=a', 'svc.topics[0].auto-create=true', 'svc.topics[0].partitions=129'],
      ['svc.topics[0].partitions: got 129 (command line)', 'svc.max-partitions-per-topic (128, default)'],
    ],
    [
      ['svc.topics.0.name=a', 'svc.topics.0.retention=1h', 'svc.topics.0.local-retention=2h'],
      ['svc.topics[0].local-retention: got 2h (command line)', 'at most svc.topics[0].retention (1h, command line)'],
    ],
    [
      ['svc.topics.0.name=a', 'svc.topics.0.retention-bytes=1GB', 'svc.topics.0.local-retention-bytes=unlimited'],
      [
        'svc.topics[0].local-retention-bytes: got unlimited',
        'at most svc.topics[0].retention-bytes (1GB, command line)',
      ],
    ],
    [
      [
        'svc.broker.listeners[0].name=a',
        'svc.broker.listeners[0].port=1',
        'svc.broker.listeners[1].name=a',
        'svc.broker.listeners[1].port=2',
      ],
      ['svc.broker.listeners[1].name'],
    ],
    [
      ['svc.broker.listeners[0].name=Plaintext', 'svc.broker.listeners[0].port=1'],
      ["svc.broker.listeners[0].name: got 'Plaintext' (command line)", 'the first listener has too'],
    ],
    [
      ['svc.broker.listeners[0].name=a', 'svc.broker.listeners[0].port=1', 'svc.broker.listeners[0].advertised-port=0'],
      ['svc.broker.listeners[0].advertised-port: got 0 (command line)', 'from 1 to 65535'],
    ],
    [
      ['a', 'b'].flatMap((name, at) => [
        `svc.broker.listeners[${at}].name=${name}`,
        `svc.broker.listeners[${at}].port=9093`,
      ]),
      ['svc.broker.listeners[1].port: got 9093 (command line)', 'svc.broker.listeners[0].port'],
    ],
  ]
  for (const [options, parts] of cases) {
    const message = refusal({ argv: options.map(option => `--${option}`) })
    for (const part of parts) assert(message.includes(part), `'${message}' names '${part}'`)
    assert(!message.includes('not in this version'), `consistency comes first: ${message}`)
  }
})

test('without the Kafka listener its port is not bound, and the HTTP port may be the same', () => {
  const asked = ['--svc.broker.enabled=false', '--svc.broker.host=127.0.0.1', '--server.address=127.0.0.1']
  const settings = load({ argv: [...asked, '--svc.broker.port=8080'] })
  assert.equal(settings.get('broker.enabled'), false)
  assert.match(refusal({ argv: [...asked.slice(1), '--svc.broker.port=8080'] }), /8080/)
})

test('PLAIN and OAUTHBEARER without TLS fail with exactly the specified texts', () => {
  const argv = (mechanism: string) => [
    '--svc.broker.sasl.enabled=true',
    `--svc.broker.sasl.mechanisms=SCRAM-SHA-256,${mechanism}`,
  ]
  assert.equal(refusal({ argv: argv('PLAIN') }), 'svc.broker.sasl: PLAIN mechanism requires svc.broker.tls=true')
  assert.equal(
    refusal({ argv: argv('OAUTHBEARER') }),
    'svc.broker.sasl: OAUTHBEARER mechanism requires svc.broker.tls=true',
  )
  // The sentence holds too if every further listener has a security of its own.
  const own = secondListener('sasl-tls').map(option => `--${option}`)
  const asked = refusal({ argv: [...argv('PLAIN'), ...own] })
  assert.equal(asked, 'svc.broker.sasl: PLAIN mechanism requires svc.broker.tls=true')
})

test('PLAIN and OAUTHBEARER fail if a listener without TLS offers them, and the message names its field', () => {
  for (const mechanism of ['PLAIN', 'OAUTHBEARER']) {
    const mechanisms = `--svc.broker.sasl.mechanisms=${mechanism}`
    const said = `svc.broker.sasl: ${mechanism} mechanism requires svc.broker.listeners[0].security=sasl-tls, got sasl-plaintext (command line)`
    const second = secondListener('sasl-plaintext').map(option => `--${option}`)
    assert.equal(refusal({ argv: [mechanisms, ...second] }), said)
    const tls = ['tls=true', 'sasl.enabled=true', 'cert-file=c', 'key-file=k'].map(option => `--svc.broker.${option}`)
    assert.equal(refusal({ argv: [mechanisms, ...tls, ...second] }), said)
  }
})

test('the embedded store has no replicas to wait for', () => {
  assert.match(
    refusal({ argv: ['--svc.storage.local.write.wait-replicas=1'] }),
    /wait-replicas: got 1 \(command line\), but the embedded store keeps one copy/,
  )
})

test('a warning names a short token for agents, and does not show it', () => {
  const about = (...argv: readonly string[]) =>
    load({ argv: ['--svc.mcp.enabled=true', ...argv] }).warnings.filter(each => each.includes('svc.mcp'))
  const short = 'a'.repeat(31)
  assert.equal(about(`--svc.mcp.token=${short}`).length, 1)
  assert.match(about(`--svc.mcp.token=${short}`)[0]!, /^svc\.mcp\.token has fewer than 32 characters/)
  assert(!about(`--svc.mcp.token=${short}`)[0]!.includes(short))
  assert.deepEqual(about(`--svc.mcp.token=${short}a`), [])
  assert.deepEqual(about('--svc.admin.security-enabled=false'), [])
})

test('a path that is no place for objects ends startup, and does not show a login', () => {
  const why = (path: string) => refusal({ argv: [`--svc.storage.remote.path=${path}`] })
  assert.equal(
    why('tables'),
    'svc.storage.remote.path: got tables (command line), but it is no place for objects: expected s3://bucket or s3://bucket/prefix, or the absolute path of a folder',
  )
  assert.match(why('s3://'), /got s3:\/\/ \(command line\), but it is no place for objects: it names no bucket/)
  assert.match(why('s3://AKIA:very-secret@bucket'), /got s3:\/\/\*\*\*@bucket \(command line\), but .* no bucket/)
  for (const path of ['s3://bucket', 's3://bucket/prefix', '/data/tables'])
    assert.equal(load({ argv: [`--svc.storage.remote.path=${path}`] }).get('storage.remote.path'), path)
})

test('the keys of S3 go together, and its endpoint is a plain URL', () => {
  const why = (...options: readonly string[]) =>
    refusal({ argv: options.map(option => `--svc.storage.remote.s3.${option}`) })
  assert.equal(
    why('access-key-id=a'),
    'svc.storage.remote.s3.access-key-id: got a (command line), but that requires svc.storage.remote.s3.secret-access-key, which is not set',
  )
  assert.match(why('secret-access-key=very-secret'), /secret-access-key: got \*\*\* .*requires .*access-key-id/)
  assert.match(why('endpoint=minio:9000'), /endpoint: got .*takes an http:\/\/ or https:\/\/ URI/)
  assert.match(why('endpoint=http://store?a=b'), /endpoint: got .* but it has a query/)
})

test('a warning names each setting of S3 that a place without S3 does not use', () => {
  const keys = ['region=eu-1', 'endpoint=https://store'].map(option => `--svc.storage.remote.s3.${option}`)
  const warnings = (...argv: readonly string[]) => load({ argv: [...keys, ...argv] }).warnings.join('\n')
  assert.match(warnings('--svc.storage.remote.path=/tables'), /s3\.region is set but has no effect: .*s3:\/\//)
  assert.match(warnings(), /s3\.endpoint is set but has no effect/)
  assert.doesNotMatch(warnings('--svc.storage.remote.path=s3://bucket'), /has no effect/)
})

test('a pattern with the remote tier needs the path of the tier, and no compaction beside it', () => {
  const pattern = ['name=a', 'remote-storage-enabled=true'].map(option => `--svc.topics[0].${option}`)
  assert.equal(
    refusal({ argv: pattern }),
    'svc.topics[0].remote-storage-enabled: got true (command line), but that requires svc.storage.remote.path, which is not set',
  )
  const argv = [...pattern, '--svc.storage.remote.path=/tables']
  assert.equal(load({ argv }).get('topics')[0]?.remoteStorageEnabled, true)
  assert.equal(
    refusal({ argv: [...argv, '--svc.topics[0].cleanup-policy=compact'] }),
    'svc.topics[0].remote-storage-enabled: got true (command line), but that requires svc.topics[0].cleanup-policy=delete, and it is compact',
  )
})

test('the namespace of the tables is one segment of a key', () => {
  const namespace = (text: string) => [`--svc.storage.remote.catalog.namespace=${text}`]
  assert.equal(load({ argv: namespace('lake-1.eu') }).get('storage.remote.catalog.namespace'), 'lake-1.eu')
  for (const text of ['a/b', '.a', 'a b', 'ä', 'x'.repeat(129)])
    assert.match(refusal({ argv: namespace(text) }), /takes a name, 1 to 128 letters/)
})

test('a blank value unsets an optional setting, a Redis URI too', () => {
  const settings = load({
    file: 'svc.storage.remote.path: ""\nsvc.redis.uri: redis://h\n',
    env: { SVC_REDIS_URI: '', SVC_BROKER_CERT_FILE: ' ' },
  })
  assert.equal(settings.get('storage.remote.path'), null)
  assert.equal(settings.get('redis.uri'), null)
  assert.equal(settings.get('broker.cert-file'), null)
})

test('a warning names a Redis setting that the embedded engine does not use', () => {
  const settings = load({ argv: ['--svc.redis.host=h', '--svc.storage.local.engine=embedded'] })
  assert(settings.warnings.some(warning => warning.includes('svc.redis.host is set but has no effect')))
})

test('a warning names each setting that a Redis URI replaces', () => {
  const warnings = (argv: readonly string[]) =>
    load({ argv: [...argv, '--svc.storage.local.engine=embedded'] }).warnings.filter(warning =>
      /replaces it/.test(warning),
    )
  assert.deepEqual(warnings(['--svc.redis.uri=redis://h', '--svc.redis.password=x']), [
    'svc.redis.password is set but has no effect: svc.redis.uri replaces it',
  ])
  assert.deepEqual(warnings(['--svc.redis.host=h', '--svc.redis.password=x']), [])
})

test('a short JWT secret fails', () => {
  const short = 'a'.repeat(31)
  const message = refusal({ env: { SVC_ADMIN_JWT_SECRET: short } })
  assert.match(message, /^svc\.admin\.jwt\.secret: got '\*\*\*', takes a secret .* at least 32 characters/)
  assert(!message.includes(short))
  assert.equal(load({ env: { SVC_ADMIN_JWT_SECRET: `${short}b` } }).get('admin.jwt.secret'), `${short}b`)
})

test('a warning names an admin API without security if other machines can reach it', () => {
  const about = (...argv: readonly string[]) =>
    load({ argv: ['--svc.admin.security-enabled=false', ...argv] }).warnings.filter(each => each.includes('svc.admin.'))
  assert.match(
    about()[0]!,
    /^INSECURE: svc\.admin\.security-enabled=false, and the admin API answers on every interface/,
  )
  assert.equal(about().length, 1)
  assert.deepEqual(about('--server.address=127.0.0.1'), [])
})

test('a warning names a Kafka listener without SASL if other machines can reach it', () => {
  const about = (argv: readonly string[]) =>
    load({ argv }).warnings.some(warning => warning.includes('takes clients without credentials'))
  assert.equal(about([]), true)
  assert.equal(about(['--svc.broker.host=127.0.0.1']), false)
  const second = ['name=a', 'port=9093', 'host=0.0.0.0'].map(field => `--svc.broker.listeners[0].${field}`)
  assert.equal(about(['--svc.broker.host=127.0.0.1', ...second]), true)
})

test('with client certificates, or with SASL by its own field, a listener causes no warning', () => {
  const files = ['cert-file=c', 'key-file=k', 'trust-cert-file=t'].map(file => `--svc.broker.${file}`)
  const about = (...argv: readonly string[]) =>
    load({ argv: [...files, ...argv] }).warnings.filter(warning => warning.includes('the Kafka listener'))
  assert.match(about('--svc.broker.tls=true')[0]!, /takes clients without credentials \(svc\.broker\.tls=true, /)
  assert.deepEqual(about('--svc.broker.tls=true', '--svc.broker.client-auth-required=true'), [])
  assert.deepEqual(about('--svc.broker.sasl.enabled=true'), [])
})

test('a warning names each plaintext listener beside secured ones, on a loopback address too', () => {
  const about = (security: string, ...argv: readonly string[]) => {
    const files = ['--svc.broker.cert-file=c', '--svc.broker.key-file=k']
    const second = secondListener(security).map(option => `--${option}`)
    const { warnings } = load({ argv: [...files, ...second, ...argv] })
    return warnings.filter(warning => warning.includes('beside secured listeners'))
  }
  assert.deepEqual(about('plaintext'), [])
  assert.match(about('sasl-tls', '--svc.broker.host=127.0.0.1')[0]!, /PLAINTEXT on 127\.0\.0\.1 is plaintext /)
  const whole = about('plaintext', '--svc.broker.sasl.enabled=true')
  assert.equal(whole.length, 1)
  assert.match(whole[0]!, /second on 0\.0\.0\.0 is plaintext \(svc\.broker\.listeners\[0\]\.security=plaintext\)/)
  assert.match(whole[0]!, /may read and write$/)
  const enforced = about('plaintext', '--svc.broker.sasl.enabled=true', '--svc.broker.acl.enabled=true')
  assert.match(enforced[0]!, /may do what the rules of ANONYMOUS allow$/)
})

test('a warning names a certificate file that no listener uses', () => {
  const about = (...argv: readonly string[]) =>
    load({ argv: argv.map(each => `--svc.broker.${each}`) }).warnings.filter(warning => warning.includes('no effect'))
  const files = ['cert-file=c', 'key-file=k']
  assert.deepEqual(about(...files), [
    'svc.broker.cert-file is set but has no effect: no Kafka listener uses TLS; svc.broker.tls is false',
  ])
  assert.deepEqual(about(...files, 'tls=true'), [])
  assert.deepEqual(about(...files, 'tls=true', 'trust-cert-file=t'), [
    'svc.broker.trust-cert-file is set but has no effect: svc.broker.client-auth-required is false',
  ])
  assert.deepEqual(about(...files, 'tls=true', 'trust-cert-file=t', 'client-auth-required=true'), [])
})

test('a namespace has no character that a key pattern or a hash slot gives a meaning', () => {
  for (const text of [
    '',
    ' ',
    'a b',
    'a:b',
    'a{b',
    'a}b',
    '*',
    'a?',
    'a[b]',
    'a"',
    'a\\b',
    'ä',
    'a\tb',
    'a'.repeat(129),
  ]) {
    const message = refusal({ env: { SVC_NAMESPACE: text } })
    assert(message.startsWith('svc.namespace: got '), message)
    assert(message.includes('without whitespace'), message)
  }
  assert.equal(load({ argv: ['--svc.namespace=team-1.prod_x'] }).get('namespace'), 'team-1.prod_x')
})

test('secrets are masked wherever settings are shown', () => {
  const argv = [
    '--svc.storage.local.engine=embedded',
    '--svc.redis.uri=redis://user:hunter2@h:6379/0',
    '--svc.redis.password=hunter2',
    '--svc.admin.password=hunter2',
    '--svc.mcp.token=hunter2',
  ]
  const settings = load({ argv, env: { SVC_REDIS_PASSWORD: 'hunter2' } })
  assert.equal(settings.get('redis.uri'), 'redis://user:hunter2@h:6379/0')
  assert.equal(settings.show('redis.uri'), 'redis://***@h:6379/0')
  const everything = [...keys.map(key => settings.show(key)), ...settings.warnings, ...settings.overrides].join('\n')
  assert(!everything.includes('hunter2'))
  assert.equal(load({}).show('admin.password'), '***')
  const refused = [
    { argv: ['--svc.redis.uri=http://user:hunter2@h'] },
    { argv: ['--svc.redis.uri=redis://user:hunter2@'] },
    { argv: ['--svc.redis.uri=user:hunter2@h'] },
    { argv: ['--svc.redis.uri=redis://:hunter2'] },
    { argv: ['--svc.redis.uri=redis://h?password=hunter2'] },
    { argv: ['--svc.redis.uri=redis://user:p@hunter2@h'], env: { SVC_BROKER_PORT: 'x' } },
    { argv: ['--svc.redis.password', 'hunter2'] },
    { argv: ['hunter2'] },
    { argv: ['-p=hunter2'] },
    { file: 'svc:\n  redis:\n    password: *hunter2\n' },
    { file: 'svc:\n  redis:\n    password: "hunter2\n' },
    { file: 'svc:\n  redis:\n    password: hunter2: x\n' },
    { file: 'svc:\n  redis:\n    password: [hunter2]\n' },
    { file: 'svc:\n  redis:\n    password: !hunter2 x\n' },
    { file: 'svc:\n  redis:\n    password: %hunter2\n' },
  ]
  for (const given of refused) {
    const message = refusal(given)
    assert(!message.includes('hunter2'), message)
  }
})

test('anchors, aliases, merge keys, tags, duplicates, several documents and large files are refused with their position', () => {
  const cases: readonly [string, RegExp][] = [
    ['svc: &a\n  namespace: x', /anchors \(&\)/],
    ['svc:\n  namespace: &a x', /svc\.namespace at \.\/svc\.yaml:2:\d+: anchors/],
    ['svc:\n  namespace: *a', /svc\.namespace at \.\/svc\.yaml:2:14: aliases \(\*\)/],
    ['svc:\n  <<: { namespace: x }', /\.\/svc\.yaml:2:3: merge keys/],
    ['svc:\n  namespace: !!binary eA==', /tags \(!\)|yaml settings file/i],
    ['svc:\n  namespace: a\n  namespace: b', /^svc\.namespace: given twice in the file \(again at \.\/svc\.yaml:3:3\)/],
    [
      'svc.namespace: a\nsvc:\n  namespace: b',
      /^svc\.namespace: given twice in the file \(\.\/svc\.yaml:1:16 and \.\/svc\.yaml:3:14\)/,
    ],
    ['svc.namespace: a\n---\nsvc.namespace: b', /not a YAML settings file/],
    ['svc: [', /not a YAML settings file/],
    ['\tsvc: 1', /not a YAML settings file/],
    ['- a', /at the top it takes keys/],
    ['just text', /at the top it takes keys/],
    ['{ a: '.repeat(20_000), /\.\/svc\.yaml/],
    [`svc: ${'{ a: '.repeat(60)}x${' }'.repeat(60)}`, /nested more than 32 deep/],
    [`# ${'x'.repeat(2 ** 20)}`, /got a file of more than 1MB, takes a settings file of at most 1MB/],
    ['? [a, b]\n: c', /a key must be text/],
  ]
  for (const [file, expected] of cases) assert.match(refusal({ file }), expected, file.slice(0, 60))
})

test('a file that is not UTF-8 is refused', () => {
  const readFile = () => Uint8Array.of(0x73, 0x3a, 0x20, 0xff)
  assert.throws(() => loadSettings({ argv: [], env: {}, cwd: '/', readFile }), /takes YAML in UTF-8/)
})

test('lists come from YAML, indexed variables, indexed options and comma-separated text', () => {
  const expected = [
    { name: 'a*', autoCreate: true, partitions: 3 },
    { name: '*', autoCreate: null, partitions: null },
  ]
  const sources: readonly Given[] = [
    { file: 'svc:\n  topics:\n  - name: a*\n    auto-create: true\n    partitions: 3\n  - { name: "*" }' },
    {
      env: {
        SVC_TOPICS_0_NAME: 'a*',
        SVC_TOPICS_0_AUTO_CREATE: 'true',
        SVC_TOPICS_0_PARTITIONS: '3',
        SVC_TOPICS_1_NAME: '*',
      },
    },
    {
      argv: [
        '--svc.topics[1].name=*',
        '--svc.topics[0].name=a*',
        '--svc.topics[0].auto-create=true',
        '--svc.topics.0.partitions=3',
      ],
    },
  ]
  for (const given of sources) {
    const found = load(given)
      .get('topics')
      .map(({ name, autoCreate, partitions }) => ({ name, autoCreate, partitions }))
    assert.deepEqual(found, expected)
  }
  const mechanisms: readonly Given[] = [
    { argv: ['--svc.broker.sasl.mechanisms=PLAIN, GSSAPI'] },
    { env: { SVC_BROKER_SASL_MECHANISMS: 'PLAIN,GSSAPI' } },
    { env: { SVC_BROKER_SASL_MECHANISMS_0: 'PLAIN', SVC_BROKER_SASL_MECHANISMS_1: 'GSSAPI' } },
    { file: 'svc.broker.sasl.mechanisms: [PLAIN, GSSAPI]' },
  ]
  for (const given of mechanisms) assert.deepEqual(load(given).get('broker.sasl.mechanisms'), ['PLAIN', 'GSSAPI'])
})

test('a list of a higher source replaces the whole list of a lower one; an empty value is an empty list', () => {
  const file = 'svc:\n  topics:\n  - name: "*"\n    auto-create: true\n    partitions: 7\n'
  const replaced = load({ file, env: { SVC_TOPICS_0_NAME: 'x' } })
  assert.deepEqual(
    replaced.get('topics').map(({ name, partitions }) => [name, partitions]),
    [['x', null]],
  )
  assert.equal(replaced.overrides.length, 1)
  assert.deepEqual(load({ file, argv: ['--svc.topics='] }).get('topics'), [])
  assert.deepEqual(load({ file: 'svc.topics: []' }).get('topics'), [])
  for (const argv of [['--svc.topics='], []]) assert.equal(load({ argv }).show('topics'), '')
})

test('a list with a gap, without a required field, whole and in parts, or of plain values is refused', () => {
  const cases: readonly [Given, RegExp][] = [
    [{ argv: ['--svc.topics[1].name=a'] }, /svc\.topics\[1\]: .* without gaps \(0 is missing/],
    [{ argv: ['--svc.topics[0].partitions=1'] }, /svc\.topics\[0\]\.name: missing/],
    [{ argv: ['--svc.topics=', '--svc.topics[0].name=a'] }, /svc\.topics: given whole \(command line\) and in parts/],
    [{ argv: ['--svc.topics=a'] }, /svc\.topics: got one value, takes a list of entries/],
    [{ file: 'svc.topics: [a, b]' }, /svc\.topics\[0\]: got one value, takes fields/],
    [
      { argv: ['--svc.topics[0].name=a', '--svc.topics.0.name=b'] },
      /svc\.topics\[0\]\.name: given twice on the command line/,
    ],
    [{ env: { SVC_TOPICS_0_NAME: 'a', SVC_TOPICS_00_NAME: 'b' } }, /given twice/],
    [{ file: 'svc.topics: [{ name: "a{b" }]' }, /svc\.topics\[0\]\.name: got 'a\{b', takes a glob/],
    [{ file: 'svc.broker.port: [1]' }, /svc\.broker\.port\[0\]: not a setting/],
  ]
  for (const [given, expected] of cases) assert.match(refusal(given), expected)
})

test('logger levels are a map from all sources, merged name by name', () => {
  const settings = load({
    file: 'logging:\n  level:\n    root: warn\n    svc.kafka: DEBUG\n    svc.log: INFO\n',
    env: { LOGGING_LEVEL_SVC_KAFKA: 'TRACE', LOGGING_STRUCTURED_FORMAT_CONSOLE: 'logstash' },
    argv: ['--logging.level.svc.store=ERROR'],
  })
  const expected = { root: 'WARN', 'svc.kafka': 'TRACE', 'svc.log': 'INFO', 'svc.store': 'ERROR' }
  assert.deepEqual(Object.fromEntries(settings.get('logging.level')), expected)
  assert.equal(settings.get('logging.structured.format.console'), 'logstash')
  assert.match(
    refusal({ env: { LOGGING_LEVEL_ROOT: 'LOUD' } }),
    /^logging\.level\.root: got 'LOUD', takes one of TRACE/,
  )
  assert.match(refusal({ argv: ['--logging.level=DEBUG'] }), /takes values by name/)
})

test('maps and lists of the other families can be set too', () => {
  const settings = load({
    env: {
      SVC_STORAGE_REMOTE_METRICS_COMMON_TAGS_REGION: 'eu',
      MANAGEMENT_ENDPOINTS_WEB_EXPOSURE_INCLUDE: 'health,loggers',
    },
    argv: ['--management.endpoint.health.probes.enabled=false', '--svc.storage.remote.metrics.common-tags.team=a'],
  })
  assert.deepEqual(Object.fromEntries(settings.get('storage.remote.metrics.common-tags')), { region: 'eu', team: 'a' })
  assert.deepEqual(settings.get('management.endpoints.web.exposure.include'), ['health', 'loggers'])
  assert.equal(settings.get('management.endpoint.health.probes.enabled'), false)
})

test('unknown actuator endpoints give one warning, which lists the known ones', () => {
  const about = (value: string) =>
    load({ argv: [`--management.endpoints.web.exposure.include=${value}`] }).warnings.filter(each =>
      each.includes('exposure'),
    )
  assert.deepEqual(about('health,metric,loggers,Info'), [
    "management.endpoints.web.exposure.include (command line) names unknown endpoints: 'metric', 'Info'; the known ones are health, info, prometheus, loggers, *",
  ])
  assert.deepEqual([...about('health,info,prometheus,loggers'), ...about('*')], [])
})

test('a command line that is no list of options is refused', () => {
  assert.match(refusal({ argv: ['start'] }), /argument 1 is not an option/)
  assert.match(
    refusal({ argv: ['--svc.broker.port', '9092'] }),
    /--svc\.broker\.port: got no value; .*\(--svc\.broker\.port=<value>\)/,
  )
  assert.match(refusal({ argv: ['--svc.broker.port=1', '--svc.broker.port=2'] }), /given twice on the command line/)
  assert.match(refusal({ argv: ['--config'] }), /--config: got nothing/)
  assert.match(refusal({ argv: ['--config=a', '--config=b'] }), /--config: given twice/)
  assert.match(refusal({ argv: ['--verbose=1'] }), /^verbose: not a setting/)
  // `--verbose` may be meant as an option without a value, so the message names the help too.
  assert.match(refusal({ argv: ['--verbose'] }), /^--verbose: .*ketch --help lists the other options$/)
})

test('the error for a key with a wrong or missing svc. prefix suggests the right key', () => {
  const meant = (argv: string) => / the nearest known one is (\S+)/.exec(refusal({ argv: [argv] }))?.[1]
  assert.equal(meant('--svc.server.port=8081'), 'server.port')
  assert.equal(meant('--svc.logging.structured.format.console=ecs'), 'logging.structured.format.console')
  assert.equal(meant('--redis.uri=redis://localhost'), 'svc.redis.uri')
})

test('the URI of an identity provider must use https, except on this machine', () => {
  const issuers: readonly [string, RegExp | null][] = [
    ['https://id.example', null],
    ['https://id.example/', null],
    ['https://id.example/realms/main', null],
    ['http://127.0.0.1:9999', null],
    ['http://[::1]:9999/realms/main', null],
    ['http://localhost:9999', null],
    ['http://id.example', /plain http/],
    ['http://127.0.0.1.example', /plain http/],
    ['https://id.example?tenant=1', /has a query/],
    ['https://id.example/.well-known/openid-configuration', /is a discovery document; the issuer is the part before/],
    ['https://id.example#x', /without #/],
    ['https://me:hunter2@id.example', /without credentials/],
    ['https://me:hunter2@id.example?', /without credentials/],
    ['file:///etc/passwd', /takes an http:/],
    ['id.example', /takes an http:/],
    ['https:id.example', /takes an http:/],
    ['https://', /takes an http:/],
  ]
  for (const key of ['svc.admin.oauth.issuer-uri', 'svc.broker.sasl.oauth.issuer-uri'])
    for (const [uri, objection] of issuers) {
      const argv = [`--${key}=${uri}`]
      if (objection === null) load({ argv })
      else {
        const message = refusal({ argv })
        assert(message.startsWith(`${key}: got `), message)
        assert.match(message, objection)
        assert(!message.includes('hunter2'), message)
      }
    }
  for (const key of ['svc.admin.oauth.jwks-uri', 'svc.broker.sasl.oauth.jwks-uri'])
    for (const uri of ['file:///etc/passwd', 'http://169.254.169.254/', 'data:application/json,{}', '/keys'])
      assert(refusal({ argv: [`--${key}=${uri}`] }).startsWith(`${key}: got`), uri)
  for (const uri of ['ftp://h/', '/api/v1/auth/oidc/callback', 'https://h/callback?x=1', 'https://h/callback#x'])
    assert.match(refusal({ argv: [`--svc.admin.oauth.redirect-uri=${uri}`] }), /^svc\.admin\.oauth\.redirect-uri: got/)
  load({ argv: ['--svc.admin.oauth.redirect-uri=http://ketch.example/api/v1/auth/oidc/callback'] })
})

test('a warning names single sign-on that has no effect, or that uses the Host header', () => {
  const argv = ['enabled=true', 'issuer-uri=https://i', 'client-id=c', 'audience=a', 'roles.admin-group=g'].map(
    rest => `--svc.admin.oauth.${rest}`,
  )
  const warnings = (...more: readonly string[]) => load({ argv: [...argv, ...more] }).warnings.join()
  assert.match(warnings(), /svc\.admin\.oauth\.redirect-uri is not set/)
  assert.doesNotMatch(warnings('--server.address=127.0.0.1'), /admin\.oauth/)
  assert.doesNotMatch(warnings('--svc.admin.oauth.redirect-uri=https://k/api/v1/auth/oidc/callback'), /admin\.oauth/)
  assert.match(warnings('--svc.admin.security-enabled=false'), /svc\.admin\.oauth\.enabled is set but has no effect/)
})

test('the scopes of single sign-on must include openid', () => {
  assert.match(refusal({ argv: ['--svc.admin.oauth.scopes=profile'] }), /^svc\.admin\.oauth\.scopes: got .*openid/)
})

test('clock skews are rounded up to whole seconds', () => {
  const settings = load({ argv: ['--svc.admin.oauth.clock-skew=1ms', '--svc.broker.sasl.oauth.clock-skew=2001ms'] })
  assert.equal(settings.get('admin.oauth.clock-skew'), 1000)
  assert.equal(settings.get('broker.sasl.oauth.clock-skew'), 3000)
})

test('the number of series in the history does not depend on the samples of each', () => {
  for (const most of ['0', '1'])
    assert.equal(
      load({ argv: [`--svc.admin.metrics-history.max-series=${most}`] }).get('admin.metrics-history.max-series'),
      Number(most),
    )
})

test('values with control characters are shown escaped and cut', () => {
  const message = refusal({ argv: [`--svc.broker.port=\u001b[31m\n\u202e${'x'.repeat(5000)}`] })
  assert(message.includes('\\u001b[31m\\u000a\\u202e'), message)
  assert(message.length < 600)
})

test('every key has a variable of its own, a default that its grammar takes, and one sentence', () => {
  const variables = keys.map(key => environmentName(fullKey(key)))
  assert.equal(new Set(variables).size, keys.length)
  for (const key of keys) {
    const { shape, fallback, fallbackText, doc } = settingsTable[key]
    assert.match(doc, /^\S.*\.$/s, key)
    if (shape.kind === 'one' && fallback() !== null && fallbackText !== null && !/[( ]/.test(fallbackText)) {
      assert.deepEqual(shape.type.parse(fallbackText), fallback(), key)
    }
  }
})

test('every key that takes one value can be set from every source', () => {
  for (const key of keys) {
    const { shape, fallback } = settingsTable[key]
    if (shape.kind !== 'one' || /redis\.|engine|s3\.(access|secret)|remote\.path/.test(key)) continue
    const text = String(
      fallback() ??
        { boolean: 'false', port: '9999', secret: 's'.repeat(32), host: 'h', enum: 'logstash', URI: 'https://h' }[
          shape.type.name
        ] ??
        'x',
    )
    const written = shape.type.name === 'duration' ? `${text}ms` : shape.type.name === 'data size' ? `${text}B` : text
    const full = fullKey(key)
    const sources: readonly Given[] = [
      { argv: [`--${full}=${written}`] },
      { env: { [environmentName(full)]: written } },
      { file: `${full}: ${written}` },
    ]
    for (const given of sources) assert.equal(load(given).isSet(key), true, full)
  }
})
