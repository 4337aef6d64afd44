import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { adminClient } from '../../testing/admin-client.ts'
import { type CleanUp, startBroker } from '../../testing/broker.ts'
import { makeCertificate, noOpenssl } from '../../testing/certificate.ts'
import { batchOf, produceTo } from '../../testing/kafka.ts'
import { ketch, type Typed } from '../../testing/run-ketch.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { systemClock } from '../base/clock.ts'
import { createTopics } from '../protocol/messages/create-topics.ts'
import { metadata } from '../protocol/messages/metadata.ts'
import { offsetCommit } from '../protocol/messages/offset-commit.ts'
import type { Values } from '../settings/settings.ts'
import { commands } from './commands/all.ts'
import { COMMON } from './common-options.ts'
import { meansVerb } from './verb-first.ts'

const PASSWORD = 'correct horse battery'
const SECURED: Partial<Values> = { 'admin.password': PASSWORD }
const OPEN: Partial<Values> = { 'admin.security-enabled': false }

async function started(t: CleanUp, settings: Partial<Values> = OPEN) {
  const store = createMemoryStore(systemClock)
  const broker = await startBroker(t, settings, { hasHttp: true, openStore: async () => store })
  const run = (line: string | readonly string[], typed: Typed = {}) =>
    ketch([...(typeof line === 'string' ? line.split(' ') : line), `--url=${broker.url}`], typed)
  const signed = (line: string, typed: Typed = {}) =>
    run(line, { ...typed, variables: { KETCH_PASSWORD: PASSWORD, ...typed.variables } })
  return { ...broker, store, run, signed }
}

test('topics are created, listed, described, changed, grown and deleted', async t => {
  const { run } = await started(t)
  const made = await run(
    'topics create orders --partitions=2 --config retention.ms=60000 --config segment.bytes=2000000',
  )
  assert.deepEqual([made.status, made.out], [0, 'orders is created with 2 partitions.\n'])
  await run('topics create other')
  const { out } = await run('topics list --filter=ORD')
  assert.match(out, /^TOPIC +PARTITIONS +RECORDS +SIZE +CLEANUP\norders +2 +0 +0 B +delete\n$/)
  for (const sort of ['name', 'partitions', 'records', 'sizeBytes', 'createdAt', 'lastWriteAt'])
    assert.equal((await run(`topics list --sort=${sort}`)).status, 0, sort)
  assert.match((await run('topics list --sort=partitions --order=desc')).out, /\norders .*\nother /)
  assert.match(
    (await run('topics describe orders')).out,
    /created +\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z\n[\s\S]*configs +retention.ms=60000 segment.bytes=2000000\n/,
  )
  assert.match(
    (await run('topics describe orders')).out,
    /\nPARTITION +LEADER +EPOCH +REPLICAS +IN SYNC .*\n +0 +(\d+) +1 +\1 +\1 /,
  )
  assert.match(
    (await run('topics create third --replication-factor=3')).err,
    /cannot be reached because only 1 broker\(s\) are registered. \[INVALID_REPLICATION_FACTOR\]/,
  )
  assert.match((await run('topics configs orders')).out, /^retention.ms +60000 +topic +604800000$/m)
  const changed = await run('topics configs orders --set retention.ms=1000 --delete segment.bytes --json')
  const configs = (JSON.parse(changed.out) as { configs: { name: string; value: string; source: string }[] }).configs
  assert.deepEqual(
    ['retention.ms', 'segment.bytes'].map(name => configs.find(each => each.name === name)!.source),
    ['topic', 'default'],
  )
  assert.equal((await run('topics partitions orders 3')).out, 'orders has 3 partitions.\n')
  assert.equal((await run('topics delete orders other --yes')).out, 'orders is deleted.\nother is deleted.\n')
  assert.deepEqual(JSON.parse((await run('topics list --json')).out), { topics: [] })
})

test('a refusal of the broker is printed with its code, and the exit status is 1', async t => {
  const { run } = await started(t)
  const missing = await run('topics describe nothing')
  assert.deepEqual([missing.status, missing.out], [1, ''])
  assert.equal(missing.err, "ketch: There is no topic 'nothing'. [UNKNOWN_TOPIC_OR_PARTITION]\n")
  const forPrograms = await run('topics describe nothing --json')
  assert.equal(JSON.parse(forPrograms.err).code, 'UNKNOWN_TOPIC_OR_PARTITION')
  assert.equal((await run('topics create orders --partitions=129')).status, 1)
})

test('a command line with an error ends with 2, suggests the nearest word and sends no request', async () => {
  const cases: [string, RegExp][] = [
    ['topcs list', /there is no "topcs"; the nearest is "topics"/],
    ['topics lst', /there is no "topics lst"; the nearest is "topics list"/],
    ['topics list --jsn', /there is no "--jsn"; the nearest is "--json"/],
    ['zebra list', /there is no "zebra" \(ketch --help/],
    ['topics list --zebra', /there is no "--zebra" \(ketch --help/],
    ['topics create', /topics create: the topic is missing/],
    ['topics describe a b', /topics describe: takes no "b"/],
    ['topics create a --partitions=two', /--partitions: got "two", takes a whole number from 1/],
    ['topics create a --config=x', /--config: got "x", takes <name>=<value>/],
    ['topics list --sort=colour', /--sort: got "colour", takes name, /],
    ['groups describe ..', /"\.\." cannot be part of a URL/],
    ['groups reset . --dry-run', /"\." cannot be part of a URL/],
    ['groups delete ..', /"\.\." cannot be part of a URL/],
    ['topics describe ..', /"\.\." cannot be part of a URL/],
    ['groups reset g --to=offset', /--to=offset goes with --offset/],
    ['acls create u --operation=READ', /--topic=<name> or --group=<id>/],
    ['topics list --url=ftp://x', /--url: got "ftp:\/\/x", takes http/],
    ['topics delete-records t', /--before is missing/],
    ['topics delete-records t --before=all', /--before: got "all", takes a whole number from 0/],
    ['loggers set svc.http LOUD', /the level: got "LOUD", takes OFF, .*, inherit/],
    ['export t --format=xml', /--format: got "xml", takes ndjson, csv/],
    ['export t --timestamp=noon', /--timestamp: got "noon"/],
    ['export t --timestamp=5.5', /--timestamp: got "5.5"/],
    ['produce t --ndjson --key=k', /--ndjson has keys/],
    ['produce t --key=k --key-separator=:', /--key-separator is for lines, and --key gives every record the same key/],
    ['produce t --value=v --header=h', /--header: got "h", takes <name>=<value>/],
    ['--filter=secret-thing topics list', /--filter stands before the command: .* ketch topics … --filter\n/],
    ['--url=http://secret-thing --partitions 2 topics create a', /--partitions stands before the command: /],
    ['--url http://secret-thing', /--url belongs to a command, and no command is named/],
    ['--json --url', /--json belongs to a command, and no command is named/],
    ['users list --password=secret-thing', /never taken from the command line/],
  ]
  for (const [line, expected] of cases) {
    const { status, err, out } = await ketch(line)
    assert.deepEqual([status, out], [2, ''], line)
    assert.match(err, expected)
    assert.doesNotMatch(err, /secret-thing/)
  }
})

test('options that every command takes may stand before it, and an option alone starts a broker', async t => {
  const { url } = await started(t)
  for (const line of [
    `--url=${url} topics list`,
    `--json --url ${url} topics list`,
    `--url ${url} --user x topics list`,
  ])
    assert.deepEqual([(await ketch(line)).status, meansVerb(line.split(' '))], [0, true], line)
  assert.match((await ketch('-h topics list')).out, /^Usage: ketch topics list/)
  assert.match((await ketch('--help topics list')).out, /^Usage: ketch topics list/)
  for (const line of ['--help', '--version', '--svc.broker.port=1', '--config topics', '--config=topics'])
    assert.equal(meansVerb(line.split(' ')), false, line)
  for (const line of ['--json', '--url=x', '--svc.broker.port=1 topics list'])
    assert.equal(meansVerb(line.split(' ')), true, line)
})

test('the exit status is 69 if no broker answers, another program answers, or the broker has no store', async t => {
  const away = await ketch('topics list --url=http://127.0.0.1:9')
  assert.equal(away.status, 69)
  assert.match(away.err, /no broker answers at http:\/\/127.0.0.1:9: /)
  const server = createServer((_request, answer) => answer.end('<html>'))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const other = await ketch(`topics list --url=http://127.0.0.1:${port}`)
  assert.equal(other.status, 69)
  assert.match(other.err, /no Ketch answers at http\S+: the answer is 200 without JSON/)
})

test('a command reaches a TLS broker over https, if it trusts the authority', { skip: noOpenssl }, async t => {
  const { certificateFile, keyFile } = await makeCertificate(t)
  const tls = { 'server.tls': true, 'server.cert-file': certificateFile, 'server.key-file': keyFile }
  const { url } = await startBroker(t, { ...OPEN, ...tls }, { hasHttp: true })
  const untrusted = await ketch(`topics list --url=${url}`)
  assert.equal(untrusted.status, 69)
  assert.match(untrusted.err, /^ketch: no authority that is trusted signed the certificate of https:.*--ca-file: /)
  for (const [file, why] of [
    ['/nowhere', /^ketch: --ca-file: "\/nowhere" cannot be read: /],
    [keyFile, /^ketch: --ca-file: ".*key\.pem" holds no PEM certificate$/m],
  ] as const) {
    const { status, err } = await ketch(`topics list --url=${url} --ca-file=${file}`)
    assert.equal(status, 2)
    assert.match(err, why)
  }
  assert.equal((await ketch(`topics list --url=${url}`, { variables: { KETCH_CA_FILE: certificateFile } })).status, 0)
  assert.equal((await ketch(`topics list --url=${url} --ca-file=${certificateFile}`)).status, 0)
})

test('if the scheme of the address is wrong about TLS, one line says what to change', {
  skip: noOpenssl,
}, async t => {
  const { certificateFile, keyFile } = await makeCertificate(t, 'DNS:another')
  const tls = { 'server.tls': true, 'server.cert-file': certificateFile, 'server.key-file': keyFile }
  const { url: secure } = await startBroker(t, { ...OPEN, ...tls }, { hasHttp: true })
  const { url: plain } = await startBroker(t, OPEN, { hasHttp: true })
  const said = async (words: string) => {
    const { status, err } = await ketch(`topics list ${words}`)
    assert.deepEqual([status, err.split('\n').length], [69, 2], err)
    return err
  }
  assert.match(
    await said(`--url=${plain.replace('http', 'https')}`),
    /does not speak TLS; use http:\/\/ in place of https:\/\/$/m,
  )
  assert.match(await said(`--url=${secure.replace('https', 'http')}`), /if the port speaks TLS, use https:\/\/$/m)
  assert.match(
    await said(`--url=${secure} --ca-file=${certificateFile}`),
    /the certificate of https:\S+ is not valid: .*not in the cert's/,
  )
})

test('a session begins with a password from the environment or the terminal, and ends with the command', async t => {
  const { run, signed, log } = await started(t, SECURED)
  const listed = await signed('users list')
  assert.equal(listed.status, 0)
  assert.match(listed.out, /^admin +ADMIN /m)
  assert.match(log(), /svc.audit {2}sign out who=admin/)
  const typed = await run('users list', { answers: [PASSWORD] })
  assert.deepEqual([typed.status, typed.questions], [0, ['Password of admin: ']])
  const unanswered = await run('users list')
  assert.deepEqual([unanswered.status, unanswered.out], [2, ''])
  assert.match(unanswered.err, /set KETCH_PASSWORD/)
  // The question for the current password comes first. After the new one it would look like a part of it.
  const changing = await run('users password admin', { answers: [PASSWORD, 'another password', 'another password'] })
  assert.equal(changing.status, 0)
  assert.deepEqual(changing.questions, ['Password of admin: ', 'New password of admin: ', 'Once more: '])
  const wrong = await run('users list', { variables: { KETCH_PASSWORD: 'wrong horse battery' } })
  assert.equal(wrong.status, 77)
  assert.match(wrong.err, /INVALID_CREDENTIALS/)
})

test('a user that cannot be read is listed by its name', async t => {
  const store = createMemoryStore(systemClock)
  const changes = [{ key: 'user:eve', value: Buffer.from('garbage') }]
  await store.commit({ kind: 'console', name: 'users', expect: 0, changes })
  const { url } = await startBroker(t, OPEN, { hasHttp: true, openStore: async () => store })
  const { status, err } = await ketch(`users list --url=${url}`)
  assert.deepEqual([status, err], [0, 'ketch: the user eve has a form that this version cannot read\n'])
  const { out } = await ketch(`users list --json --url=${url}`)
  const { users, unreadable } = JSON.parse(out)
  assert.deepEqual([users.map(({ username }: { username: string }) => username), unreadable], [['admin'], ['eve']])
})

test('users are made, changed and removed, and a VIEWER may only look', async t => {
  const { signed } = await started(t, SECURED)
  const NEW = { KETCH_NEW_PASSWORD: 'a new long password' }
  assert.equal((await signed('users create vic --role=viewer', { variables: NEW })).out, 'vic is made, as VIEWER.\n')
  const asVic = { variables: { KETCH_USER: 'vic', KETCH_PASSWORD: NEW.KETCH_NEW_PASSWORD } }
  assert.equal((await signed('topics list', asVic)).status, 0)
  assert.equal((await signed('topics create x', asVic)).status, 77)
  assert.equal((await signed('users role vic admin')).out, 'vic is ADMIN.\n')
  const changed = await signed('users password admin', { answers: ['another password', 'another password'] })
  assert.deepEqual([changed.status, changed.out], [0, 'admin has another password.\n'])
  const typo = await signed('users create max', {
    variables: { KETCH_PASSWORD: 'another password' },
    answers: ['one password', 'other password'],
  })
  assert.deepEqual([typo.status, typo.err], [2, 'ketch: the two passwords are not the same; nothing was changed\n'])
  const now = { variables: { KETCH_PASSWORD: 'another password' } }
  assert.deepEqual(JSON.parse((await signed('users delete vic --yes --json', now)).out), { deleted: ['vic'] })
  assert.match((await signed('users role admin viewer', now)).err, /LAST_ADMIN/)
})

test('a command that cannot be undone asks first, and without a terminal it changes nothing', async t => {
  const { run } = await started(t)
  await run('topics create orders')
  const no = await run('topics delete orders', { answers: ['n'] })
  assert.deepEqual([no.status, no.questions], [0, ['Delete orders with everything in it? [y/N] ']])
  const unanswered = await run('topics delete orders')
  assert.deepEqual(
    [unanswered.status, unanswered.err],
    [2, 'ketch: nothing was changed: without a terminal to confirm it, add --yes\n'],
  )
  assert.match((await run('topics list')).out, /^orders /m)
  assert.equal((await run('topics delete orders', { answers: ['y'] })).out, 'orders is deleted.\n')
})

test('a deletion that fails at one topic names the topics that were deleted before', async t => {
  const { run } = await started(t)
  for (const topic of ['d1', 'd2', 'd3', 'd4']) await run(`topics create ${topic}`)
  const missing = "ketch: There is no topic 'nope'. [UNKNOWN_TOPIC_OR_PARTITION]\n"
  const first = await run('topics delete --yes nope d1')
  assert.deepEqual([first.status, first.out, first.err], [1, '', missing])
  const one = await run('topics delete --yes d1 nope d2')
  assert.deepEqual([one.status, one.out, one.err], [1, '', `${missing}  d1 was deleted before\n`])
  const two = await run('topics delete --yes d2 d3 nope d4 --json')
  const { code, deleted } = JSON.parse(two.err)
  assert.deepEqual([two.status, two.out, code, deleted], [1, '', 'UNKNOWN_TOPIC_OR_PARTITION', ['d2', 'd3']])
  assert.match((await run('topics list')).out, /^TOPIC .*\nd4 .*\n$/)
})

test('groups are listed and described, and a reset applies what its preview showed', async t => {
  const { run, connect } = await started(t)
  const wire = await connect()
  await wire.send(metadata, 4, { topics: [{ name: 't' }] })
  await produceTo(wire, batchOf(['a', 'b', 'c']))
  const partitions = [{ partitionIndex: 0, committedOffset: 1, committedMetadata: '' }]
  await wire.send(offsetCommit, 8, { groupId: 'g', memberId: '', topics: [{ name: 't', partitions }] })
  assert.match((await run('groups list')).out, /^g +Empty +0 +2 +2 +0 +0 +\d{4}-/m)
  await wire.send(metadata, 4, { topics: [{ name: 'u' }] })
  const topics = ['t', 'u'].map(name => ({ name, partitions: [{ ...partitions[0]!, committedOffset: 0 }] }))
  await wire.send(offsetCommit, 8, { groupId: 'h', memberId: '', topics })
  assert.match((await run('groups list')).out, /^h +Empty +0 +3 +3 /m)
  assert.match((await run('groups list --topic=u')).out, /^GROUP .*\nh +Empty +0 +0 +0 .*\n$/)
  assert.match((await run('groups list --topic=nothing')).err, /There is no topic 'nothing'/)
  assert.match((await run('groups describe g')).out, /^t +0 +1 +- +0 +3 +2 +-$/m)
  const dry = await run('groups reset g --to=earliest --dry-run')
  assert.deepEqual([dry.status, dry.err], [0, ''])
  assert.match(dry.out, /^t +0 +1 +- +0 +3 +0 +-$/m)
  const reset = await run('groups reset g --to=latest', { answers: ['yes'] })
  assert.deepEqual([reset.status, reset.out, reset.questions], [0, 'Reset 1 position.\n', ['Reset 1 position? [y/N] ']])
  assert.match(reset.err, /^t +0 +1 +- +0 +3 +3 +-$/m)
  assert.match((await run('groups describe g')).out, /^t +0 +3 +- +0 +3 +0 +-$/m)
  assert.equal((await run('groups delete g --yes')).status, 0)
  assert.match((await run('groups describe g')).err, /GROUP_ID_NOT_FOUND/)
})

test('rules and credentials are granted, listed and taken back', async t => {
  const { run } = await started(t)
  const variables = { KETCH_NEW_PASSWORD: 'a new long password' }
  const made = await run('credentials create alice --mechanism=scram-sha-256 --tenant=blue', { variables })
  assert.deepEqual([made.status, made.out], [0, 'alice may sign in with SCRAM-SHA-256.\n'])
  assert.match((await run('credentials list')).out, /^alice +SCRAM-SHA-256 +10000 +blue$/m)
  const granted = await run('acls create alice --topic=orders* --operation=read')
  assert.deepEqual(
    [granted.status, granted.out],
    [0, 'alice: READ on topic orders* is granted to connections that begin from now on.\n'],
  )
  assert.match(granted.err, /^ketch: No broker enforces rules: [^\n]+\n$/)
  assert.match(made.err, /^ketch: No broker asks Kafka clients for credentials, [^\n]+\n$/)
  const asJson = await run('acls create bob --group=g --operation=READ --json')
  assert.match(asJson.err, /^ketch: No broker enforces rules: /)
  assert.match(JSON.parse(asJson.out).notice, /^No broker enforces rules: /)
  assert.match((await run('acls list')).out, /^alice +TOPIC +orders\* +READ\nbob +GROUP +g +READ\n$/m)
  assert.doesNotMatch((await run('acls list bob')).out, /alice/)
  assert.equal((await run('acls delete alice --topic=orders* --operation=READ --yes')).status, 0)
  assert.equal((await run('acls delete alice --topic=orders* --operation=READ --yes')).status, 1)
  assert.equal((await run('credentials delete alice --yes')).status, 0)
  assert.deepEqual(JSON.parse((await run('credentials list --json')).out), { credentials: [] })
})

test('a long list is read page by page', async t => {
  const { run, connect } = await started(t)
  const wire = await connect()
  const small = { numPartitions: 1, replicationFactor: 1, assignments: [], configs: [] }
  const topics = Array.from({ length: 1_002 }, (_, at) => ({ name: `t${at}`, ...small }))
  await wire.send(createTopics, 5, { topics, timeoutMs: 10_000 })
  const listed = JSON.parse((await run('topics list --json')).out) as { topics: { name: string }[] }
  assert.equal(new Set(listed.topics.map(({ name }) => name)).size, 1_002)
  assert.equal((await run('topics list --limit=3')).out.trim().split('\n').length, 4)
})

test('a tail shows existing and new records, one line each, and nothing in a record moves the cursor', async t => {
  const { run, connect } = await started(t)
  const wire = await connect()
  await wire.send(metadata, 4, { topics: [{ name: 't' }] })
  await produceTo(wire, batchOf(['old', '\u001b[2J\nx']))
  const last = await run('tail t --last=1 --count=1')
  assert.deepEqual([last.status, last.out], [0, '2023-11-14T22:13:20.000Z  0@1  null  \\u001b[2J\\nx\n'])
  const begun = Promise.withResolvers<void>()
  const both = run('tail t --last=1 --count=2 --json', { onOut: begun.resolve })
  await begun.promise
  await produceTo(wire, batchOf(['new']))
  const values = (await both).out
    .trim()
    .split('\n')
    .map(text => JSON.parse(text).value.text as string)
  assert.deepEqual(values, ['\u001b[2J\nx', 'new'])
  const ctrlC = new AbortController()
  const forever = run('tail t', { interrupted: ctrlC.signal })
  setImmediate(() => ctrlC.abort())
  assert.ok([0, 130].includes((await forever).status))
  assert.equal((await run('tail nothing')).status, 1)
})

test('a tail begins with as many records as were asked for, however many pages they take, and goes on after them', async t => {
  const { run, connect } = await started(t)
  await run('topics create t')
  await run('produce t', { input: [Array.from({ length: 2_500 }, (_, i) => `${i}\n`).join('')] })
  const values = (out: string) => out.split('\n').flatMap(line => line.split('  ').slice(3))
  const numbers = (from: number, end: number) => Array.from({ length: end - from }, (_, i) => String(from + i))
  const beginning = await run('tail t --last=2200 --count=1000')
  assert.deepEqual([beginning.status, values(beginning.out)], [0, numbers(300, 1_300)])
  const produced: Promise<unknown>[] = []
  const onOut = () => {
    if (produced.length === 0) produced.push(run('produce t --value=2500'))
  }
  const last = await run('tail t --last=2200 --count=2201', { onOut })
  await Promise.all(produced)
  assert.deepEqual([last.status, last.err, values(last.out)], [0, '', numbers(300, 2_501)])
  assert.deepEqual(values((await run('tail t --last=9000 --count=2501')).out), numbers(0, 2_501))
  // More records than one page searches, so that one page ends without a match.
  const wire = await connect()
  for (let i = 0; i < 3; i++) await produceTo(wire, batchOf(Array.from({ length: 70_000 }, () => '')))
  assert.deepEqual(values((await run('tail t --last=1 --count=1 --contains=2500')).out), ['2500'])
})

test('a tail that is too slow in a topic whose offsets have gaps reports missed records without a number', async t => {
  const { run, connect } = await started(t)
  await run('topics create t --config offset.sequence.bits=11')
  await run('produce t --value=there')
  const wire = await connect()
  // One record more than a broker reads at once, in one batch, so that it reads all of them together.
  const many = batchOf(Array.from({ length: 2_001 }, (_, i) => `many ${i}`))
  const produced: Promise<unknown>[] = []
  let lines = 0
  const onOut = () => {
    lines++
    if (lines === 1) produced.push(produceTo(wire, many))
    if (lines === 2_001) produced.push(produceTo(wire, batchOf(['after'])))
  }
  const { status, out, err } = await run('tail t --last=1 --count=2002', { onOut })
  await Promise.all(produced)
  assert.deepEqual([status, err], [0, 'ketch: some records came faster than they were read\n'])
  assert.match(out, /null {2}many 1999\n.* null {2}after\n$/)
})

test('the oldest records of a topic are deleted, of all partitions or of those that are named', async t => {
  const { run } = await started(t)
  await run('topics create t --partitions=2')
  for (const partition of [0, 1]) await run(`produce t --partition=${partition}`, { input: ['a\nb\nc\n'] })
  const some = await run('topics delete-records t --before=1', { answers: ['y'] })
  assert.deepEqual(some.questions, ['Delete the records before offset 1 in 2 partitions of t? [y/N] '])
  assert.match(some.out, /^ +0 +1 +-\n +1 +1 +-\n$/m)
  const one = await run('topics delete-records t --before=end --partition=1 --yes --json')
  assert.deepEqual(JSON.parse(one.out), { partitions: [{ partition: 1, start: 3, error: null }] })
  const beyond = await run('topics delete-records t --before=4 --yes')
  assert.deepEqual([beyond.status, beyond.out], [1, ''])
  assert.match(beyond.err, /OFFSET_OUT_OF_RANGE/)
  assert.equal((await run('topics delete-records t --before=end')).status, 2)
  assert.match((await run('topics describe t')).out, /^records +2$/m)
})

test('records are produced from options, lines and JSON, and an export is produced again unchanged', async t => {
  const { run } = await started(t)
  const values = async (topic: string) => {
    const { out } = await run(`export ${topic} --format=csv`)
    return out
      .split('\r\n')
      .slice(1, -1)
      .map(row => row.split(',').slice(5).join())
  }
  await run('topics create t --partitions=3')
  await run('topics create again --partitions=3')
  const one = await run(['produce', 't', '--value=a b', '--key=k', '--header=h=1=2', '--header=h=', '--partition=2'])
  assert.match(one.out, /^PARTITION +RECORDS +FIRST OFFSET +LAST OFFSET\n +2 +1 +0 +0\n$/)
  // A line ends at its newline, not at the end of a chunk, and need not be text.
  const input = ['x:fir', 'st\n\nx:\nx:', Buffer.from([0xff, 0xfe]), '\nx:last']
  const noKey = await run('produce t --partition=0 --key-separator=:', { input })
  assert.equal(noKey.status, 2)
  assert.match(noKey.err, /^ketch: line 2: has no key before ":"\n$/)
  const lines = await run('produce t --partition=1 --key-separator=: --json', {
    input: input.map(each => (each === 'st\n\nx:\nx:' ? 'st\nx:\nx:' : each)),
  })
  assert.deepEqual(JSON.parse(lines.out), {
    records: 4,
    partitions: [{ partition: 1, records: 4, firstOffset: 0, lastOffset: 3 }],
  })
  const seen = await values('t')
  assert.deepEqual(seen.toSorted(), [
    '"k",,decoded,"a b",,decoded,"[{""key"":""h"",""value"":""1=2""},{""key"":""h"",""value"":""""}]",,',
    '"x",,decoded,"",,decoded,"[]",,',
    '"x",,decoded,"first",,decoded,"[]",,',
    '"x",,decoded,"last",,decoded,"[]",,',
    '"x",,decoded,,//4=,decode-error,"[]",,',
  ])
  const exported = await run('export t')
  const copied = await run('produce again --ndjson', { input: [exported.out] })
  assert.equal(copied.status, 0, copied.err)
  assert.equal((await run('export again')).out, exported.out)
  assert.equal((await run('export t --contains=first --limit=5')).out.split('\n').length, 2)
  assert.equal((await run('export nothing')).status, 1)
})

test('records from before 1970 are exported and produced again unchanged, and cannot be searched by time', async t => {
  const { run, connect } = await started(t)
  await run('topics create t')
  await run('topics create again')
  const wire = await connect()
  for (const timestamp of [-86_400_000, -2, Number.MIN_SAFE_INTEGER, 0])
    await produceTo(wire, batchOf([String(timestamp)], {}, timestamp))
  const { out: exported } = await run('export t')
  const copied = await run('produce again --ndjson', { input: [exported] })
  assert.deepEqual([copied.status, copied.err], [0, ''])
  assert.equal((await run('export again')).out, exported)
  assert.match(
    (await run('tail again --last=4 --count=4')).out,
    /^1969-12-31T00:00:00.000Z {2}0@0 {2}null {2}-86400000$/m,
  )
  for (const timestamp of ['1969-12-31T00:00:00Z', '-5', '-1']) {
    const { status, out, err } = await run(`export t --timestamp=${timestamp}`)
    assert.deepEqual([status, out], [1, ''])
    assert.match(
      err,
      /timestamp: got -?\d+, takes an integer from 0: Kafka's protocol cannot ask for a time before 1970/,
    )
  }
})

test('a record that cannot be produced is reported with its line and the number of records before it', async t => {
  const { run } = await started(t)
  await run('topics create t')
  const bad: [string, RegExp][] = [
    ['{', /line 1: is not JSON: /],
    ['[]', /line 1: is not a JSON object/],
    ['{"vlaue":"x"}', /line 1: a record has no field "vlaue"/],
    ['{"value":5}', /line 1: the value takes a text, /],
    ['{"value":{"text":"x","truncated":true}}', /line 1: the value is cut off/],
    ['{"headers":[{"value":"x"}]}', /line 1: a header takes a key/],
    ['{"headerCount":40,"headers":[]}', /line 1: only 0 of 40 headers are there/],
  ]
  for (const [line, expected] of bad) {
    const { status, err } = await run('produce t --ndjson', { input: [line] })
    assert.equal(status, 2, line)
    assert.match(err, expected)
  }
  const late = await run('produce t --ndjson', {
    input: ['{"value":"good","key":null,"timestamp":null}\n', '{"timestamp":-1}\n'],
  })
  assert.equal(late.status, 1)
  assert.match(late.err, /INVALID_REQUEST\]\n {2}1 record of the input was produced before\n$/)
  const many = await run('produce t', { input: [Array.from({ length: 2_500 }, (_, i) => `${i}\n`).join('')] })
  assert.match(many.out, /^ +0 +2500 +1 +2500$/m)
  assert.equal((await run('produce nothing', { input: ['x\n'] })).status, 1)
})

test('an export that breaks off ends with 69, even if a part was written', async t => {
  const server = createServer((request, answer) => {
    if (request.url!.endsWith('/auth/status')) {
      answer.writeHead(200, { 'content-type': 'application/json' }).end('{"securityEnabled":false}')
      return
    }
    answer.writeHead(200, { 'content-type': 'application/x-ndjson' }).write('{"offset":0}\n', () => answer.destroy())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { status, err } = await ketch(`export t --url=${url}`)
  assert.equal(status, 69)
  assert.match(err, /^ketch: the answer of http:.* broke off: /)
})

test('a round of the storage worker is started and shown, and an error ends with 2, 69 or 77', async t => {
  const { signed, url } = await started(t, SECURED)
  const idle = await signed('storage run')
  assert.match(idle.out, /^Round \d+ took \d+ ms\.\n\nNo broker leads a partition, so there was nothing to do\.\n$/)
  assert.equal((await signed('topics create orders --partitions=3')).status, 0)
  const shown = await signed('storage run')
  assert.deepEqual([shown.status, shown.err], [0, ''])
  assert.match(
    shown.out,
    /^Round \d+ took \d+ ms\.\n\nBROKER +OUTCOME +PARTITIONS +ROLLED +.*TROUBLE\n0 +done +3 +0 +0 +0 +0 +0 +0 +-\n$/,
  )
  const told = JSON.parse((await signed('storage run --json')).out)
  const counts = { partitions: 3, rolled: 0, droppedBytes: 0, due: 0, cleaned: 0, cleanedBytes: 0, failures: 0 }
  assert.deepEqual(told.brokers, [{ id: 0, outcome: 'done', ...counts, trouble: null }])
  assert.equal((await signed('storage run now')).status, 2)

  const password = { KETCH_NEW_PASSWORD: 'a new long password' }
  assert.equal((await signed('users create vic --role=viewer', { variables: password })).status, 0)
  const asVic = { variables: { KETCH_USER: 'vic', KETCH_PASSWORD: password.KETCH_NEW_PASSWORD } }
  const forbidden = await signed('storage run', asVic)
  assert.equal(forbidden.status, 77)
  assert.match(forbidden.err, /The role of this user is VIEWER; it must be ADMIN\. \[FORBIDDEN\]/)
  assert.equal((await signed('storage run', { variables: { KETCH_PASSWORD: 'a wrong password' } })).status, 77)
  assert.equal((await ketch('storage run --url=http://127.0.0.1:9')).status, 69)
  assert.equal((await adminClient(url).ask('POST', '/api/v1/storage/worker/run')).status, 401)

  const { run } = await started(t, { ...OPEN, 'storage.worker.enabled': false })
  const refused = await run('storage run')
  assert.deepEqual([refused.status, refused.out], [69, ''])
  assert.match(refused.err, /svc\.storage\.worker\.enabled is false on this broker\. \[NO_STORAGE_WORKER\]$/m)
})

test('levels of loggers are listed, set and taken back', async t => {
  const { run } = await started(t)
  assert.match((await run('loggers list')).out, /^LOGGER +LEVEL +SET TO\n(.*\n)*root +INFO +-\n/)
  assert.equal((await run('loggers set svc.http debug')).out, 'svc.http writes DEBUG.\n')
  assert.match((await run('loggers list')).out, /^svc.http +DEBUG +DEBUG$/m)
  const back = await run('loggers set svc.http inherit --json')
  assert.deepEqual(JSON.parse(back.out), { name: 'svc.http', level: 'INFO', configuredLevel: null })
  assert.equal((await run('loggers set svc.nothing INFO')).status, 1)
})

test('a tail shows a timestamp beyond every date as a number', async t => {
  const { run, url } = await started(t)
  const api = adminClient(`${url}/api/v1`).ask
  const configs = { 'message.timestamp.after.max.ms': '9223372036854775807' }
  assert.equal((await api('POST', '/topics', { name: 't', configs })).status, 201)
  const timestamp = 9_007_199_254_740_991
  const { body } = await api('POST', '/topics/t/messages', { messages: [{ value: { text: 'v' }, timestamp }] })
  assert.equal(body.messages[0].error, null)
  const last = await run('tail t --last=1 --count=1')
  assert.deepEqual([last.status, last.out, last.err], [0, `${timestamp}  0@0  null  v\n`, ''])
})

test('health ends with 0, 1 or 69, and shows the details to a user who signs in', async t => {
  const { run, signed, dir, store } = await started(t, SECURED)
  store.faults.failNext('ping', 'unavailable')
  const down = await run('health')
  assert.deepEqual([down.status, down.out.split('\n')[0]], [1, 'DOWN'])
  assert.equal((await run('health --live')).status, 0)
  assert.equal((await run('health --ready')).status, 1)
  const { run: ask } = await started(t, SECURED)
  const up = await ask('health')
  assert.deepEqual([up.status, up.out.split('\n')[0]], [0, 'UP'])
  assert.ok(!up.out.includes(dir))
  assert.equal((await ask('health --ready')).status, 0)
  const full = await signed('health --user=admin')
  assert.equal(full.status, 1)
  assert.ok(full.out.includes(dir))
  assert.equal((await ketch('health --url=http://127.0.0.1:9')).status, 69)
})

test('every command has a help that names its options, and the guide names every command', async () => {
  const guide = readFileSync(new URL('../../docs/guides/command-line.md', import.meta.url), 'utf8')
  for (const { name, options } of commands) {
    const { status, out } = await ketch(`${name} --help`)
    assert.equal(status, 0)
    for (const option of Object.keys({ ...options, ...COMMON }))
      assert.ok(out.includes(`--${option}`), `${name} ${option}`)
    assert.ok(guide.includes(`\`ketch ${name}`), name)
  }
  assert.match((await ketch('topics --help')).out, /ketch topics partitions <topic> <count>/)
})
