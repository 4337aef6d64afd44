// The long form of the console's tests: `npm run console`, or `npm run console -- walk hostile`. Each file with parts
// takes all of its cases. Without words every file with parts runs; outages must run alone, for it measures times.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { NODE_FLAGS, root } from '../../scripts/node24.mjs'

const WITH_PARTS = [
  ...['walk', 'journeys', 'hostile', 'wrong-answers', 'failures', 'address', 'capabilities', 'screen-reader'],
  'polling',
]

const words = process.argv.slice(2)
const files = (words.length === 0 ? WITH_PARTS : words).map(word => `e2e/console/${word}.all`)
const { status } = spawnSync(process.execPath, [...NODE_FLAGS, join(root, 'scripts/suite.ts'), '--all', ...files], {
  cwd: root,
  env: { ...process.env, KETCH_LONG: '1' },
  stdio: 'inherit',
})
process.exit(status ?? 1)
