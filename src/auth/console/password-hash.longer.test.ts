import assert from 'node:assert/strict'
import { argon2Sync } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { systemClock } from '../../base/clock.ts'
import { systemRandom } from '../../base/random.ts'
import type { Argon2Input } from './argon2-worker.ts'
import { createPasswordHashes } from './password-hash.ts'

const RIGHT = { kind: 'verdict', isRight: true, isOutdated: false }

test('a hash is argon2id with 19 MiB, two passes and one lane, says so, and is never the same twice', async () => {
  const hashes = createPasswordHashes(systemRandom, systemClock)
  const [one, other] = await Promise.all([hashes.make('correct horse'), hashes.make('correct horse')])
  assert.match(String(one), /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  assert.notEqual(one, other)
  assert.deepEqual(await hashes.verify('correct horse', one as string, null), RIGHT)
  assert.equal(((await hashes.verify('correct horsf', one as string, null)) as typeof RIGHT).isRight, false)
})

test('a password is never cut, may be any Unicode, and is the same however its characters are composed', async () => {
  const hashes = createPasswordHashes(systemRandom, systemClock)
  const long = `${'a'.repeat(1_023)}`
  const made = (await hashes.make(`${long}b`)) as string
  assert.equal(((await hashes.verify(`${long}c`, made, null)) as typeof RIGHT).isRight, false)
  const composed = (await hashes.make('pass\u00e9\u{1F511}\u0000word')) as string
  assert.deepEqual(await hashes.verify('passe\u0301\u{1F511}\u0000word', composed, null), RIGHT)
  assert.equal(((await hashes.verify('passe\u{1F511}\u0000word', composed, null)) as typeof RIGHT).isRight, false)
})

test('a hash with other parameters is still valid, and outdated', async () => {
  const salt = Buffer.alloc(16, 7)
  const parameters = { nonce: salt, parallelism: 1, tagLength: 32, memory: 8 * 1024, passes: 3 }
  const tag = argon2Sync('argon2id', { message: 'correct horse', ...parameters })
  const text = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
  const stored = `$argon2id$v=19$m=8192,t=3,p=1$${text(salt)}$${text(tag)}`
  assert.deepEqual(await createPasswordHashes(systemRandom, systemClock).verify('correct horse', stored, null), {
    ...RIGHT,
    isOutdated: true,
  })
})

test('the check for a missing user computes the same as for an existing one, and is never right', async t => {
  const hashes = createPasswordHashes(systemRandom, systemClock)
  const made = (await hashes.make('correct horse')) as string
  // This test compares the inputs of the threads. routes/auth.longer.test.ts compares how long the answers take.
  const asked = t.mock.method(Worker.prototype, 'postMessage').mock
  for (const stored of [made, null])
    assert.equal(((await hashes.verify('wrong horse', stored, null)) as typeof RIGHT).isRight, false)
  const [known, unknown] = asked.calls.map(({ arguments: [input] }) => {
    const { nonce, message, ...parameters } = input as Argon2Input
    return { ...parameters, nonceBytes: nonce.length, message: Buffer.from(message).toString() }
  })
  assert.deepEqual(unknown, known)
  assert.deepEqual(known, {
    message: 'wrong horse',
    nonceBytes: 16,
    parallelism: 1,
    tagLength: 32,
    memory: 19 * 1024,
    passes: 2,
  })
})

/** Parameters so small that a hash takes almost no time. */
const CHEAP = `$argon2id$v=19$m=8,t=1,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`

const from = (network: number, ended?: AbortSignal) => ({ network: `10.0.0.${network}`, ended })

test('two passwords are hashed at once, 32 callers wait, and the next one is told that the broker is busy', async () => {
  const hashes = createPasswordHashes(systemRandom, systemClock)
  const answers = await Promise.all(Array.from({ length: 40 }, (_, at) => hashes.verify('wrong', CHEAP, from(at))))
  assert.deepEqual(
    answers.map(({ kind }) => kind),
    [...Array<string>(34).fill('verdict'), ...Array<string>(6).fill('busy')],
  )
  assert.equal((await hashes.verify('wrong', CHEAP, from(40))).kind, 'verdict')
})

test('four callers of one network may wait, and callers of other networks still find a place', async () => {
  const hashes = createPasswordHashes(systemRandom, systemClock)
  const one = Array.from({ length: 40 }, () => hashes.verify('wrong', CHEAP, from(1)))
  const other = await hashes.verify('wrong', CHEAP, from(2))
  const hashed = (await Promise.all(one)).filter(({ kind }) => kind === 'verdict')
  assert.deepEqual([hashed.length, other.kind], [6, 'verdict'])
})

test('a caller who is signed in finds a place to wait, however many strangers wait', async () => {
  const hashes = createPasswordHashes(systemRandom, systemClock)
  const strangers = Array.from({ length: 40 }, (_, at) => hashes.verify('wrong', CHEAP, from(at)))
  const made = hashes.make('correct horse')
  assert.equal((await hashes.verify('wrong', CHEAP, null)).kind, 'verdict')
  assert.equal(typeof (await made), 'string')
  assert.equal((await Promise.all(strangers)).filter(({ kind }) => kind === 'verdict').length, 34)
})

test('a client that has left gives up its place', async () => {
  const hashes = createPasswordHashes(systemRandom, systemClock)
  const leaving = new AbortController()
  const strangers = Array.from({ length: 6 }, () => hashes.verify('wrong', CHEAP, from(1, leaving.signal)))
  assert.equal((await hashes.verify('wrong', CHEAP, from(1))).kind, 'busy')
  leaving.abort()
  assert.equal((await hashes.verify('wrong', CHEAP, from(1))).kind, 'verdict')
  assert.deepEqual(
    (await Promise.all(strangers)).map(({ kind }) => kind),
    ['verdict', 'verdict', 'busy', 'busy', 'busy', 'busy'],
  )
  assert.equal((await hashes.verify('wrong', CHEAP, from(1, leaving.signal))).kind, 'busy')
})

test('passwords are hashed by threads of the lowest priority, and the event loop keeps its own', {
  skip: process.platform === 'linux' ? false : 'threads have no priority of their own here',
}, async () => {
  // proc_pid_stat(5): the nice value is the 17th field behind the name, which may contain blanks.
  const niceOf = async (thread: string) =>
    (await readFile(`/proc/self/task/${thread}/stat`, 'utf8')).split(') ').at(-1)!.split(' ')[16]
  const lowest = async () => (await Promise.all((await readdir('/proc/self/task')).map(niceOf))).filter(is19).length
  const is19 = (nice: string | undefined) => nice === '19'
  const before = await lowest()
  const hashes = createPasswordHashes(systemRandom, systemClock)
  await Promise.all([hashes.make('correct horse'), hashes.make('battery staple')])
  assert.equal((await lowest()) - before, 2)
  assert.equal(await niceOf(String(process.pid)), '0')
})
