import { join } from 'node:path'
import { temporaryFolder } from '../../../testing/temporary-folder.ts'
import { systemClock } from '../../base/clock.ts'
import { systemRandom } from '../../base/random.ts'
import { objectsConformance } from './conformance.ts'
import { openFolder } from './folder.ts'

objectsConformance('folder', async t => {
  const folder = await temporaryFolder(t, 'ketch-objects-')
  const warn = (text: string) => t.diagnostic(text)
  const objects = await openFolder(join(folder, 'place'), { clock: systemClock, random: systemRandom, warn })
  t.after(() => objects.close())
  return objects
})
