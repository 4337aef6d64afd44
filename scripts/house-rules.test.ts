import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspectHouse } from './house-rules.ts'

const HEAD = '// A file.\n'
const MAIN: Record<string, string> = { 'src/main.ts': `${HEAD}` }

/**
 * Returns the findings for these files. main.ts imports all of them, unless the files contain a main.ts of their own.
 */
function inspect(files: Record<string, string>): string[] {
  const reached = Object.keys(files).map(file => `import './${file.slice('src/'.length)}'\n`)
  const main = { 'src/main.ts': HEAD + reached.join('') }
  const sources = new Map(Object.entries({ ...MAIN, ...main, ...files }))
  return inspectHouse(sources).map(({ file, line, text }) => `${file}:${line}: ${text}`)
}

test('a room imports itself and lower floors, and nothing of the same or a higher one', () => {
  const lower = { 'src/base/clock.ts': HEAD }
  assert.deepEqual(inspect({ ...lower, 'src/log/lane.ts': `${HEAD}import '../base/clock.ts'` }), [])
  assert.deepEqual(inspect({ 'src/log/lane.ts': HEAD, 'src/auth/keys.ts': `${HEAD}import '../log/lane.ts'` }), [
    'src/auth/keys.ts:2: imports src/log/lane.ts of the same or a higher floor',
  ])
  assert.deepEqual(inspect({ 'src/log/lane.ts': HEAD, 'src/base/clock.ts': `${HEAD}import '../log/lane.ts'` }), [
    'src/base/clock.ts:2: imports src/log/lane.ts of the same or a higher floor',
  ])
})

test('an import of a type from a higher floor counts too, and a test may import anything', () => {
  const upward = `${HEAD}import type { Lane } from '../log/lane.ts'`
  assert.equal(inspect({ 'src/log/lane.ts': HEAD, 'src/base/clock.ts': upward }).length, 1)
  assert.deepEqual(inspect({ 'src/log/lane.ts': HEAD, 'src/base/clock.test.ts': upward }), [])
})

test('a room without a floor, a package that is not listed, and a package in the wrong room are found', () => {
  assert.ok(inspect({ 'src/attic/box.ts': HEAD }).includes('src/attic/box.ts:1: no room is called attic'))
  assert.deepEqual(inspect({ 'src/log/lane.ts': `${HEAD}import 'left-pad'` }), [
    'src/log/lane.ts:2: package left-pad is not listed',
  ])
  assert.match(
    inspect({ 'src/log/lane.ts': `${HEAD}import { open } from 'lmdb'` })[0]!,
    /package lmdb is allowed only in/,
  )
})

test('api imports only zod and itself, and the command line imports only its types and words', () => {
  const shapes = { 'src/api/words.ts': HEAD, 'src/api/topics.ts': `${HEAD}import 'zod'\nimport './words.ts'` }
  assert.deepEqual(inspect(shapes), [])
  for (const other of ['node:util', '../base/clock.ts'])
    assert.ok(
      inspect({ 'src/base/clock.ts': HEAD, 'src/api/topics.ts': `${HEAD}import '${other}'` }).some(text =>
        text.startsWith('src/api/topics.ts:2: api imports '),
      ),
      other,
    )
  const command = (line: string) => inspect({ ...shapes, 'src/cli/commands/topics.ts': `${HEAD}${line}` })
  assert.deepEqual(command("import type { Topic } from '../../api/topics.ts'"), [])
  assert.deepEqual(command("import { SORTS } from '../../api/words.ts'"), [])
  assert.deepEqual(command("import { topicShape } from '../../api/topics.ts'"), [
    'src/cli/commands/topics.ts:2: loads api/topics.ts',
  ])
})

test('the console takes from the broker only types of api, and the code of its pages and words', () => {
  const inConsole = (line: string, file = 'console/pages/topics/list.tsx') =>
    inspectHouse(new Map(Object.entries({ ...MAIN, [file]: `${HEAD}${line}` }))).map(({ text }) => text)
  const api = '../../../src/api'
  for (const line of [
    `import type { Topic } from '${api}/topics.ts'`,
    `import { pages } from '${api}/pages.ts'`,
    `import { ROLES } from '${api}/words.ts'`,
    "import type { z } from 'zod'",
    "import { ask } from '../../api/client.ts'",
    "import { useState } from 'react'",
    "import '../../style/base.css'",
  ])
    assert.deepEqual(inConsole(line), [], line)
  assert.deepEqual(inConsole(`import { topicShape } from '${api}/topics.ts'`), ['loads api/topics.ts'])
  assert.deepEqual(inConsole("import { z } from 'zod'"), ['loads zod'])
  for (const other of [
    '../../../src/base/cut.ts',
    '../../../scripts/node24.mjs',
    '../../../testing/http.ts',
    'node:fs',
  ])
    assert.ok(
      inConsole(`import '${other}'`).some(text => text.startsWith('the console imports ')),
      other,
    )
  assert.match(inspect({ 'src/log/lane.ts': `${HEAD}import { useState } from 'react'` })[0]!, /only in console\//)
  assert.match(inspect({ 'src/log/lane.ts': `${HEAD}import '../../console/main.tsx'` })[0]!, /imports console\//)
})

test('in the console only its api and its shell use clocks and timers, and a class has no value of its own', () => {
  const inConsole = (file: string, line: string) =>
    inspectHouse(new Map(Object.entries({ ...MAIN, [file]: `${HEAD}${line}` }))).map(({ text }) => text)
  for (const line of ['Date.now()', 'setTimeout(go, 1)', "console.log('x')"]) {
    assert.equal(inConsole('console/pages/topics/list.tsx', line).length, 1, line)
    for (const folder of ['api', 'shell']) assert.deepEqual(inConsole(`console/${folder}/poll.ts`, line), [], line)
  }
  assert.equal(inConsole('console/shell/dice.ts', 'Math.random()').length, 1)
  assert.deepEqual(inConsole('console/parts/box.tsx', '<p className="w-[37px]" />'), ['w-[37px]'])
  assert.deepEqual(inConsole('console/parts/box.tsx', '<p className="w-full" title={names[0]} />'), [])
  assert.deepEqual(inConsole('console/parts/Box.tsx', ''), ['not kebab-case'])
})

test('files that import each other in a circle are one finding', () => {
  const circle = {
    'src/log/a.ts': `${HEAD}import './b.ts'`,
    'src/log/b.ts': `${HEAD}import './a.ts'`,
  }
  const found = inspect(circle).filter(text => text.includes('cycle'))
  assert.equal(found.length, 1)
  assert.match(found[0]!, /src\/log\/a\.ts src\/log\/b\.ts|src\/log\/b\.ts src\/log\/a\.ts/)
})

test('a file that nothing of the product imports is dead', () => {
  const sources = new Map(Object.entries({ ...MAIN, 'src/log/attic.ts': HEAD }))
  assert.deepEqual(
    inspectHouse(sources).map(({ text }) => text),
    ['nothing that main.ts runs imports it'],
  )
})

test('only one room each may use the clock, random values, the environment and the console', () => {
  for (const line of ['Date.now()', 'setTimeout(go, 1)', 'Math.random()', 'process.env.HOME', "console.log('x')"])
    assert.equal(inspect({ 'src/log/lane.ts': `${HEAD}${line}` }).length, 1, line)
  assert.deepEqual(inspect({ 'src/base/clock.ts': `${HEAD}Date.now()` }), [])
  assert.deepEqual(inspect({ 'src/log/lane.ts': `${HEAD}// Date.now() is not asked here.` }), [])
})

test('TLS without a check of the certificate or its name is found', () => {
  for (const option of ['rejectUnauthorized: false', 'checkServerIdentity: () => undefined'])
    assert.equal(inspect({ 'src/store/redis.ts': `${HEAD}connect({ ${option} })` }).length, 1, option)
  const own = 'src/kafka/connection/handshake.ts'
  assert.deepEqual(inspect({ [own]: `${HEAD}createServer({ requestCert: true, rejectUnauthorized: false })` }), [])
})

test('names without meaning, names that are not kebab-case, and files without a head are found', () => {
  assert.match(inspect({ 'src/log/utils.ts': HEAD })[0]!, /a name that says nothing/)
  assert.match(inspect({ 'src/log/fileName.ts': HEAD })[0]!, /not kebab-case/)
  assert.match(inspect({ 'src/log/lane.ts': 'export const a = 1' })[0]!, /no opening comment/)
})

test('a handler has a message of its name and a line in the table, and opens with its versions', () => {
  const message = `${HEAD}api({ name: 'Produce', versions: '0-12' })`
  const table = `${HEAD}import './produce.ts'`
  const inspectHandler = (head: string) =>
    inspect({
      'src/protocol/messages/produce.ts': message,
      'src/kafka/handlers/all.ts': table,
      'src/kafka/handlers/produce.ts': `${head}\n`,
    })
  assert.deepEqual(inspectHandler('// Produce 0-12: appends.'), [])
  assert.match(inspectHandler('// Produce 0-9: appends.')[0]!, /opens with/)
  assert.match(inspect({ 'src/kafka/handlers/odd.ts': HEAD })[0]!, /a handler without a message/)
})
