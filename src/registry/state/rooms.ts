// The rooms that the state of the registry needs.

import type { DocumentRooms } from '../../store/document-keeper.ts'
import type { NameUnreadable } from '../../store/unreadable.ts'

export interface StateRooms extends DocumentRooms {
  /** Whether other brokers can write the documents too. */
  readonly isShared: boolean
  readonly unreadable?: NameUnreadable | undefined
}
