// Runs some of the unit tests in this process: the files that the JSON text in KETCH_UNIT_FILES lists. A process for
// each file would take longer than its tests.

import { test } from 'node:test'

const files = JSON.parse(process.env.KETCH_UNIT_FILES ?? '[]') as readonly string[]
// Tests may start child processes, and these are no part.
delete process.env.KETCH_UNIT_FILES
for (const file of files) {
  try {
    await import(file)
  } catch (error) {
    // The other files still run, and the failure has the name of this one.
    test(`${file} can be loaded`, () => {
      throw error
    })
  }
}
