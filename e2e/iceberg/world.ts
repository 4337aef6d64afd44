// The tables that the engines read, and the records that they must find. Everything that the engines need is the URL
// and the token of the catalog, so only this file decides who makes the tables: a holder of the lease on a folder, with
// batches of every form.

import { seededRandom } from '../../src/base/random.ts'
import { ENDLESS } from '../../src/base/patience.ts'
import { type Codec, codecs } from '../../src/protocol/compression.ts'
import { commit } from '../../src/tier/iceberg/commit.ts'
import { expireSnapshots } from '../../src/tier/iceberg/expire-snapshots.ts'
import { mergeManifests } from '../../src/tier/iceberg/merge-manifests.ts'
import { OffsetIndexer } from '../../src/tier/iceberg/offset-index.ts'
import { removeBelow } from '../../src/tier/iceberg/retention.ts'
import { loadTable } from '../../src/tier/iceberg/table.ts'
import { auditTable } from '../../testing/iceberg-audit.ts'
import { type CleanUp, startBroker } from '../../testing/broker.ts'
import { catalogTables } from '../../testing/catalog-tables.ts'
import { type CraftedBatch, type CraftedRecord, craftBatch } from '../../testing/data-files.ts'
import { foreignCommit, unguarded } from '../../testing/iceberg-table.ts'
import { type SealedForTest, SEALED_AT } from '../../testing/offloading.ts'
import type { SeenRecord } from './sums.ts'
