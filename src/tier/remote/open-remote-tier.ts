// Opens the remote tier of a broker if its settings name a place. Without one nothing of the tier is loaded: neither
// the writer of tables nor the client of S3.

import type { BrokerTier } from './remote-rounds.ts'
import type { RemoteTierRooms } from './tier-parts.ts'

/** Resolves with null without storage.remote.path. A place that is away does not make it fail. */
export async function openRemoteTier(rooms: RemoteTierRooms): Promise<BrokerTier | null> {
  if (rooms.settings.get('storage.remote.path') === null) return null
  const { openIcebergTier } = await import('./iceberg-tier.ts')
  return await openIcebergTier(rooms)
}
