import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { NODE_FLAGS, root } from '../scripts/node24.mjs'

/** Runs a test file as the suite does: with untracked.ts. */
function runTest(body: string) {
  const folder = mkdtempSync(join(tmpdir(), 'ketch-'))
  try {
    const file = join(folder, 'one.test.mjs')
    const waiting = 'await new Promise(resolve => setTimeout(resolve, 50))'
    writeFileSync(file, `import { test } from 'node:test'\ntest('one', async () => { ${body}; ${waiting} })\n`)
    const args = [...NODE_FLAGS, `--import=${join(root, 'testing/untracked.ts')}`, file]
    // The variable would make this process report to the runner of this test.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', env })
    return { status, stdout }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

for (const [what, body] of [
  ['an error that a timer throws', "setTimeout(() => { throw new Error('outside') })"],
  ['a promise that is rejected and that no code awaits', "void Promise.reject(new Error('outside'))"],
] as const)
  test(`${what} fails its file, which prints the error`, () => {
    const { status, stdout } = runTest(body)
    assert.equal(status, 1)
    assert.match(stdout, /created the error "Error: outside"/)
  })

test('a file without such an error passes', () => {
  assert.equal(runTest('').status, 0)
})
