// Tests that no agent tool can reach users, credentials, rules, quotas, settings or the levels of loggers, so that no
// tool widens the rights of anybody. The proof is over the imports: code that is not loaded cannot be called.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { allTools } from './tools/all.ts'

const root = join(import.meta.dirname, '../..')
const own = globSync('src/mcp/**/*.ts', { cwd: root }).filter(file => !file.endsWith('.test.ts'))

interface Import {
  readonly from: string
  /** Names that are more than types; empty for types alone. */
  readonly names: readonly string[]
}

function importsOf(file: string): readonly Import[] {
  const text = readFileSync(join(root, file), 'utf8')
  const statements = text.matchAll(/^(?:import|export)\s+(type\s)?([^;'"]*?)\s*from\s+'(\.[^']+)'/gm)
  const awaited = text.matchAll(/\bimport\('(\.[^']+)'\)/g)
  return [
    ...Array.from(statements, ([, isType, clause, path]) => ({
      from: join(dirname(file), path!),
      names: isType === undefined ? valuesIn(clause!) : [],
    })),
    ...Array.from(awaited, ([, path]) => ({ from: join(dirname(file), path!), names: ['*'] })),
  ]
}

function valuesIn(clause: string): string[] {
  const inBraces = /\{([^}]*)\}/.exec(clause)?.[1]
  if (inBraces === undefined) return [clause]
  return inBraces
    .split(',')
    .map(each => each.trim())
    .filter(each => each !== '' && !each.startsWith('type '))
}

/** Returns every file that is loaded with the tools, with the files that load it. */
function loaded(): ReadonlyMap<string, readonly { readonly by: string; readonly names: readonly string[] }[]> {
  const found = new Map<string, { by: string; names: readonly string[] }[]>(own.map(file => [file, []]))
  const left = [...own]
  for (let file = left.pop(); file !== undefined; file = left.pop()) {
    for (const { from, names } of importsOf(file)) {
      if (names.length === 0) continue
      if (!found.has(from)) {
        found.set(from, [])
        left.push(from)
      }
      found.get(from)!.push({ by: file, names })
    }
  }
  return found
}

const files = loaded()
const loadersOf = (file: string) => (files.get(file) ?? []).map(({ by, names }) => `${by}: ${[...names].sort()}`).sort()

test('the tools load no verb for users, credentials, rules or quotas', () => {
  assert.ok(files.has('src/admin/topic-changes.ts') && files.has('src/store/document-keeper.ts'), 'files are followed')
  const forbidden = /^src\/(auth\/|admin\/(acls|client-quotas|credentials|users|enforcement|broker-configs)\.ts)/
  assert.deepEqual(
    [...files.keys()].filter(file => forbidden.test(file)),
    // It makes the key that signs previews of offset resets.
    ['src/auth/shared-key.ts'],
  )
  assert.deepEqual(loadersOf('src/auth/shared-key.ts'), ['src/admin/groups/offset-reset.ts: makeSharedKey'])
  for (const file of own)
    for (const { from } of importsOf(file)) assert.ok(!from.startsWith('src/auth/'), `${file} knows a type of ${from}`)
})

test('of the configs, the tools reach those of topics, and no level of a logger', () => {
  assert.deepEqual(loadersOf('src/admin/loggers.ts'), [
    'src/admin/configs.ts: levelObjection,listLoggers,setLevels',
    'src/mcp/endpoint.ts: openAuditLog',
  ])
  const callers = [...files].flatMap(([file]) =>
    importsOf(file)
      .filter(({ from, names }) => from === 'src/admin/configs.ts' && names.includes('alterConfigs'))
      .map(() => file),
  )
  // The verbs there alter the resource of a topic, and take the name of no other one.
  assert.deepEqual(callers, ['src/admin/topic-changes.ts'])
  const text = readFileSync(join(root, 'src/admin/topic-changes.ts'), 'utf8')
  assert.equal(text.match(/resource: \{/g)?.length, 1)
  assert.match(text, /resource: \{ type: 'topic' as const, name: topic \}/)
})

test('each argument that the audit log shows is one of the tool, and none has contents', () => {
  const contents = ['messages', 'schema', 'references', 'confirm']
  for (const { name, audited, input } of allTools) {
    for (const argument of audited) assert.ok(Object.hasOwn(input.shape, argument), `${name} has ${argument}`)
    const shown = audited.filter(argument => contents.includes(argument))
    assert.deepEqual(shown, [], name)
  }
})
