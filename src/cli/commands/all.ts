// Every operator's verb, in the order of the help.

import type { Command } from '../command.ts'
import { aclCommands } from './acls.ts'
import { credentialCommands } from './credentials.ts'
import { groupCommands } from './groups.ts'
import { healthCommands } from './health.ts'
import { tailCommands } from './tail.ts'
import { topicCommands } from './topics.ts'
import { userCommands } from './users.ts'

export const commands: readonly Command[] = [
  ...topicCommands,
  ...tailCommands,
  ...groupCommands,
  ...userCommands,
  ...aclCommands,
  ...credentialCommands,
  ...healthCommands,
]
