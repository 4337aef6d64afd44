// Makes a credential for a Kafka client: with a generated password, which is shown once, and the settings of the client
// ready to paste. Replacing an existing credential needs a tick.

import { useState } from 'react'
import { MECHANISMS, type Mechanism } from '../../../src/api/words.ts'
import { ask } from '../../api/client.ts'
import { asProblem, type Problem, unplaced } from '../../api/problem.ts'
import { useChange } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { Command } from '../../parts/copy.tsx'
import { Dialog, DialogActions } from '../../parts/dialog.tsx'
import { SelectField, SwitchField, TextField } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { waysOf } from '../../shell/listeners.ts'
import { javaProperties, librdkafkaProperties } from '../../text/client-properties.ts'

/** 24 bytes are 192 bits, written with 32 characters that every configuration file takes. */
const PASSWORD_BYTES = 24

function newPassword(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(PASSWORD_BYTES))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
}

interface Made {
  readonly username: string
  readonly password: string
  readonly mechanism: Mechanism
  readonly notice: string | null
}

export function NewCredential({ onClose }: { readonly onClose: () => void }) {
  const [made, setMade] = useState<Made | null>(null)
  return made === null ? (
    <CredentialForm onMade={setMade} onClose={onClose} />
  ) : (
    <CredentialShown made={made} onClose={onClose} />
  )
}

function CredentialForm({ onMade, onClose }: { readonly onMade: (made: Made) => void; readonly onClose: () => void }) {
  const [username, setUsername] = useState('')
  const listeners = useCapabilities()?.listeners
  const isOffered = (each: Mechanism) => listeners?.some(({ mechanisms }) => mechanisms.includes(each)) === true
  const [chosen, setMechanism] = useState<Mechanism | null>(null)
  const mechanism = chosen ?? MECHANISMS.find(isOffered) ?? 'SCRAM-SHA-256'
  const [tenant, setTenant] = useState('')
  const [isGenerated, setGenerated] = useState(true)
  const [typed, setTyped] = useState('')
  const [mayReplace, setMayReplace] = useState(false)
  const [isTaken, setTaken] = useState(false)
  const [looking, setLooking] = useState<Problem | null>(null)
  const { run, isBusy, problem: refusal } = useChange('store credential')
  const problem = looking ?? refusal
  const submit = async () => {
    setLooking(null)
    if (!mayReplace) {
      try {
        await ask('describe credential', { params: { username } })
        return setTaken(true)
      } catch (error) {
        const found = asProblem(error)
        if (found.status !== 404) return setLooking(found)
      }
    }
    const password = isGenerated ? newPassword() : typed
    const stored = await run({ body: { username, password, mechanism, tenant_id: tenant === '' ? null : tenant } })
    if (stored !== null) onMade({ username, password, mechanism, notice: stored.answer.notice })
  }
  const objections = problem?.fields ?? {}
  return (
    <FormDialog
      operation="store credential"
      title="New SASL credential"
      verb={isTaken ? 'Replace credential' : 'Create credential'}
      isReady={username !== '' && (!isTaken || mayReplace)}
      isBusy={isBusy}
      problem={unplaced(problem)}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <TextField
        label="User"
        value={username}
        onChange={text => {
          setUsername(text)
          setTaken(false)
          setMayReplace(false)
        }}
        error={objections.username}
        hint="At most 128 characters, without a colon."
        autoComplete="off"
        spellCheck={false}
        required
      />
      <SelectField
        label="Mechanism"
        value={mechanism}
        options={MECHANISMS.map(each => [each, each] as const)}
        onChange={text => setMechanism(MECHANISMS.find(each => each === text)!)}
        error={objections.mechanism}
        hint={
          mechanism === 'PLAIN'
            ? 'PLAIN sends the password itself to the broker, so that it needs a listener with TLS.'
            : 'The password never crosses the network.'
        }
      />
      {listeners !== undefined && !isOffered(mechanism) && (
        <p role="status" className="my-3 rounded-control bg-warn-soft p-3 text-warn">
          No listener of this broker offers {mechanism}, so that no client can use the credential until a listener does.
        </p>
      )}
      <TextField
        label="Tenant (optional)"
        value={tenant}
        onChange={setTenant}
        error={objections.tenant_id}
        hint="The broker writes it into its log lines about this user. It gives no rights."
        autoComplete="off"
        spellCheck={false}
      />
      <SwitchField
        label="Generate a password"
        isOn={isGenerated}
        onChange={setGenerated}
        hint="It is shown once, afterwards."
      />
      {!isGenerated && (
        <TextField
          label="Password"
          type="password"
          value={typed}
          onChange={setTyped}
          error={objections.password}
          hint="8 to 1024 bytes of any Unicode."
          autoComplete="new-password"
          required
        />
      )}
      {isTaken && (
        <div role="alert" className="my-3 rounded-control bg-warn-soft p-3">
          <p className="text-warn">
            {username} has a credential already. Replacing it locks out every client that uses the old password.
          </p>
          <SwitchField label={`Replace the credential of ${username}`} isOn={mayReplace} onChange={setMayReplace} />
        </div>
      )}
    </FormDialog>
  )
}

/** Shows the password, which nothing can show again, with the settings of a client. */
function CredentialShown({ made, onClose }: { readonly made: Made; readonly onClose: () => void }) {
  const { username, password, mechanism, notice } = made
  const [isKept, setKept] = useState(false)
  const capabilities = useCapabilities()
  const listeners = capabilities?.listeners ?? []
  const listener = listeners.find(({ mechanisms }) => mechanisms.includes(mechanism)) ?? listeners[0]
  const hasSasl = listener?.security.startsWith('SASL_') === true
  const fallback = mechanism === 'PLAIN' ? 'SASL_SSL' : 'SASL_PLAINTEXT'
  const access = {
    bootstrap: waysOf(listeners).find(({ name }) => name === listener?.name)?.access.bootstrap ?? 'localhost:9092',
    security: hasSasl ? listener.security : (fallback as 'SASL_SSL' | 'SASL_PLAINTEXT'),
    mechanism,
    username,
    password,
  }
  return (
    <Dialog title={`The credential of ${username}`} onClose={onClose} isDismissable={isKept}>
      <p>The password is shown only now. Keep it where the client finds it.</p>
      {notice !== null && <p className="my-2 rounded-control bg-warn-soft p-3 text-warn">{notice}</p>}
      <Command text={password} label="Password" />
      <Command text={javaProperties(access).content} label="Java clients and Kafka's tools: client.properties" />
      <Command text={librdkafkaProperties(access).content} label="librdkafka, Python, Go and kcat: client.conf" />
      <SwitchField label="I have kept the password" isOn={isKept} onChange={setKept} />
      <DialogActions>
        <Button kind="primary" disabled={!isKept} onClick={onClose}>
          Close
        </Button>
      </DialogActions>
    </Dialog>
  )
}
