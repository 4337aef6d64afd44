// Every journey, in one list.

import { alterConfig } from './alter-config.ts'
import { deleteTopic } from './delete-topic.ts'
import { emptyPages } from './empty-pages.ts'
import { firstMinute } from './first-minute.ts'
import { firstRun } from './first-run.ts'
import { grantAndCredential } from './grant-and-credential.ts'
import type { Journey } from './journey.ts'
import { keyboardOnly } from './keyboard-only.ts'
import { liveTail } from './live-tail.ts'
import { lockout } from './lockout.ts'
import { offloadJobs } from './offload-jobs.ts'
import { produceAgain } from './produce-again.ts'
import { recordsWithSchemas } from './records-with-schemas.ts'
import { remoteTier } from './remote-tier.ts'
import { resetOffsets } from './reset-offsets.ts'
import { schemas } from './schemas.ts'
import { searchAndStop } from './search-and-stop.ts'
import { segments } from './segments.ts'
import { sessionExpiry } from './session-expiry.ts'
import { shareARecord } from './share-a-record.ts'
import { shippedPassword } from './shipped-password.ts'
import { sso } from './sso.ts'
import { twoBrokers } from './two-brokers.ts'

export const journeys: readonly Journey[] = [
  firstRun,
  firstMinute,
  shippedPassword,
  lockout,
  sso,
  sessionExpiry,
  shareARecord,
  searchAndStop,
  liveTail,
  produceAgain,
  recordsWithSchemas,
  alterConfig,
  deleteTopic,
  segments,
  remoteTier,
  offloadJobs,
  resetOffsets,
  grantAndCredential,
  schemas,
  twoBrokers,
  emptyPages,
  keyboardOnly,
]
