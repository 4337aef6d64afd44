import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { systemRandom } from '../../base/random.ts'
import { objectsConformance } from './conformance.ts'
import { openFolder } from './folder.ts'

objectsConformance('folder', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'ketch-objects-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const warn = (text: string) => t.diagnostic(text)
  const objects = await openFolder(join(folder, 'place'), { clock: systemClock, random: systemRandom, warn })
  t.after(() => objects.close())
  return objects
})
