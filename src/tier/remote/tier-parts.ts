// The parts of a remote tier that its files share, and the rooms of the broker that it uses. Only shapes.

import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { CatalogueKeeper } from '../../log/catalogue.ts'
import type { Settings } from '../../settings/settings.ts'
import type { Store } from '../../store/store.ts'
import type { NameUnreadable } from '../../store/unreadable.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { OpenArchive } from '../archive/open-archive.ts'
import type { Objects } from '../objects/objects.ts'
import type { JobDocuments } from '../offload/job-documents.ts'
import type { Breaker } from './breaker.ts'
import type { Notices } from './notices.ts'
import type { TierState } from './remote-tier.ts'

export interface RemoteTierRooms {
  readonly settings: Settings
  readonly store: Store
  readonly catalogue: Pick<CatalogueKeeper, 'current' | 'watch'>
  readonly clock: Clock
  readonly random: Random
  readonly metrics: Metrics
  readonly logger: Logger
  readonly unreadable?: NameUnreadable | undefined
}

/** The parts that the rounds of the holder use too. */
export interface TierParts extends Omit<RemoteTierRooms, 'logger'> {
  readonly logger: Logger
  readonly namespace: string
  readonly objects: Objects
  readonly breaker: Breaker
  readonly notices: Notices
  readonly jobs: JobDocuments
  readonly archive: OpenArchive
  /** Whether the place creates an object only once. */
  createOnly: TierState['createOnly']
}
