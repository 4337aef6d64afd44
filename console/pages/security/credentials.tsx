// The SASL credentials of Kafka clients that the store keeps.

import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import type { Credential } from '../../../src/api/credentials.ts'
import { useChange, useRead } from '../../api/queries.ts'
import { Action } from '../../parts/button.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { lazyPart } from '../../parts/lazy-part.tsx'
import { Empty } from '../../parts/states.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { useCapability } from '../../shell/capabilities.ts'
import { toast } from '../../shell/toasts.tsx'
import { count } from '../../text/format.ts'
import { SecurityList, useListQuery } from './security-list.tsx'

/** Only the dialog needs the settings of clients. */
const NewCredential = lazyPart(async () => (await import('./new-credential.tsx')).NewCredential)

export function Credentials() {
  const sasl = useCapability('sasl')
  const [isCreating, setCreating] = useState(false)
  const [deleted, setDeleted] = useState<Credential | null>(null)
  const query = useListQuery('username')
  const read = useRead('list credentials', { query })
  const columns: readonly Column<Credential>[] = [
    { id: 'username', head: 'User', sort: 'username', isFixed: true, cell: row => <VisibleText text={row.username} /> },
    { id: 'mechanism', head: 'Mechanism', sort: 'mechanism', cell: row => row.mechanism },
    {
      id: 'tenant',
      head: 'Tenant',
      sort: 'tenant_id',
      isOnPhone: false,
      cell: row => (row.tenant_id === null ? '—' : <VisibleText text={row.tenant_id} />),
    },
    { id: 'iterations', head: 'Iterations', isNumber: true, isOnPhone: false, cell: row => count(row.iterations) },
    {
      id: 'verbs',
      head: 'Actions',
      isHeadHidden: true,
      isFixed: true,
      cell: credential => (
        <span className="flex justify-end">
          <Action
            operation="delete credential"
            kind="quiet"
            isSmall
            aria-label={`Delete the credential of ${credential.username}`}
            onClick={() => setDeleted(credential)}
          >
            Delete
          </Action>
        </span>
      ),
    },
  ]
  return (
    <>
      <SecurityList
        of="credentials"
        read={read}
        rowsOf={({ credentials }) => credentials}
        keyOf={({ username }) => username}
        columns={columns}
        sort="username"
        actions={
          <Action operation="store credential" kind="primary" icon={KeyRound} onClick={() => setCreating(true)}>
            New credential
          </Action>
        }
        note={
          sasl !== undefined && sasl.state !== 'on' ? (
            <p className="mb-3 rounded-control bg-warn-soft p-3 text-warn">
              {sasl.because} No Kafka client is asked for a credential.
            </p>
          ) : undefined
        }
        empty={
          <Empty title="There is no credential yet.">
            With a credential a Kafka client proves who it is; rules then say what it may do.
          </Empty>
        }
      />
      {isCreating && <NewCredential onClose={() => setCreating(false)} />}
      {deleted !== null && <DeleteCredential credential={deleted} onClose={() => setDeleted(null)} />}
    </>
  )
}

function DeleteCredential({
  credential: { username },
  onClose,
}: {
  readonly credential: Credential
  readonly onClose: () => void
}) {
  const { run, isBusy, problem } = useChange('delete credential')
  const submit = async () => {
    if ((await run({ params: { username } })) === null) return
    toast(`Deleted the credential of ${username}.`)
    onClose()
  }
  return (
    <Confirm
      operation="delete credential"
      title={`Delete the credential of ${username}`}
      name={username}
      verb="Delete credential"
      isBusy={isBusy}
      problem={problem}
      onConfirm={() => void submit()}
      onClose={onClose}
    >
      <p>
        Kafka clients can no longer authenticate as {username}. The password cannot be brought back. Connections that
        are open stay until they end; the rules of {username} stay too.
      </p>
    </Confirm>
  )
}
