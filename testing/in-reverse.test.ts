import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inReverse } from './in-reverse.ts'

test('the hook that was registered last runs first, and a failure stops none of them', async () => {
  const ran: string[] = []
  let cleanUp = async () => {}
  const own = inReverse({
    after(hook) {
      cleanUp = hook
    },
  })
  own.after(async () => void ran.push('folder'))
  own.after(async () => {
    ran.push('broker')
    throw new Error('it has ended already')
  })
  own.after(async () => void ran.push('client'))
  await assert.rejects(cleanUp(), /it has ended already/)
  assert.deepEqual(ran, ['client', 'broker', 'folder'])
})
