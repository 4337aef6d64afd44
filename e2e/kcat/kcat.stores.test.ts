import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startBrokerProcess } from '../../testing/process.ts'
import { runCommand } from '../command.ts'
import { kcat } from './client.ts'

const skip = kcat.absence() ?? false

const lines = (count: number) => Array.from({ length: count }, (_, i) => `line ${i}`).join('\n')

test('kcat produces to a topic that did not exist, and reads it back', { skip }, async t => {
  const broker = await startBrokerProcess(t)
  const address = ['-b', broker.address]
  await runCommand('kcat', ['-P', ...address, '-t', 'made-by-kcat', '-X', 'acks=all'], { input: lines(1000) })
  const read = await runCommand('kcat', ['-C', ...address, '-t', 'made-by-kcat', '-e', '-q'])
  assert.equal(read.toString().trimEnd(), lines(1000))
})

test('every record of an idempotent kcat is stored once', { skip }, async t => {
  const broker = await startBrokerProcess(t)
  const settings = ['-X', 'enable.idempotence=true', '-X', 'batch.num.messages=100', '-X', 'linger.ms=1']
  await runCommand('kcat', ['-P', '-b', broker.address, '-t', 'once', ...settings], { input: lines(10_000) })
  const read = await runCommand('kcat', ['-C', '-b', broker.address, '-t', 'once', '-e', '-q', '-f', '%o %s\n'])
  const expected = lines(10_000)
    .split('\n')
    .map((line, offset) => `${offset} ${line}`)
  assert.deepEqual(read.toString().trimEnd().split('\n'), expected)
})

test('kcat finds an offset by its timestamp, the newest records from the end, and the metadata', { skip }, async t => {
  const broker = await startBrokerProcess(t)
  const address = ['-b', broker.address]
  await runCommand('kcat', ['-P', ...address, '-t', 'times'], { input: lines(10) })
  const stamps = await runCommand('kcat', ['-C', ...address, '-t', 'times', '-e', '-q', '-f', '%T\n'])
  const first = Number(stamps.toString().split('\n')[0])
  assert.equal(
    (await runCommand('kcat', ['-Q', ...address, '-t', `times:0:${first}`])).toString().trim(),
    'times [0] offset 0',
  )
  const last = await runCommand('kcat', ['-C', ...address, '-t', 'times', '-o', '-3', '-e', '-q'])
  assert.deepEqual(last.toString().trimEnd().split('\n'), ['line 7', 'line 8', 'line 9'])
  const metadata = JSON.parse((await runCommand('kcat', ['-L', ...address, '-J', '-t', 'times'])).toString())
  assert.deepEqual(
    metadata.brokers.map((one: { name: string }) => one.name),
    [broker.address],
  )
  assert.equal(metadata.topics[0].partitions.length, 1)
})
