// Every operator's verb, in the order of the help.

import type { Command } from '../command.ts'
import { aclCommands } from './acls.ts'
import { agentCommands } from './agents.ts'
import { credentialCommands } from './credentials.ts'
import { exportCommands } from './export.ts'
import { groupCommands } from './groups.ts'
import { healthCommands } from './health.ts'
import { loggerCommands } from './loggers.ts'
import { produceCommands } from './produce.ts'
import { remoteStorageCommands } from './remote-storage.ts'
import { schemaCommands } from './schemas.ts'
import { schemaChangeCommands } from './schemas-changes.ts'
import { storageCommands } from './storage.ts'
import { tailCommands } from './tail.ts'
import { topicCommands } from './topics.ts'
import { userCommands } from './users.ts'

export const commands: readonly Command[] = [
  ...topicCommands,
  ...produceCommands,
  ...tailCommands,
  ...exportCommands,
  ...groupCommands,
  ...userCommands,
  ...aclCommands,
  ...credentialCommands,
  ...schemaCommands,
  ...schemaChangeCommands,
  ...loggerCommands,
  ...storageCommands,
  ...remoteStorageCommands,
  ...agentCommands,
  ...healthCommands,
]
