// The overview of an empty broker: from nothing to a record that the user sees arrive, in the browser or in a terminal.

import { useState } from 'react'
import { useMay } from '../../shell/session.tsx'
import { BrowserSteps } from './browser-steps.tsx'
import { TerminalSteps } from './terminal-steps.tsx'

const FIRST_NAME = 'my-first-topic'
const EXAMPLE = 'Hello from the terminal'

interface FirstMinuteProps {
  /** A topic of the broker, if it has one by now; another program may have made it. */
  readonly topic: string | null
  /** Hears that the user has made the first topic. */
  readonly onBegin: () => void
  readonly onLeave: () => void
}

export function FirstMinute({ topic, onBegin, onLeave }: FirstMinuteProps) {
  const [name, setName] = useState(FIRST_NAME)
  const [created, setCreated] = useState<string | null>(null)
  const mayCreate = useMay('create topic')
  const shown = created ?? topic
  return (
    <>
      <p className="my-4 max-w-wide">
        {shown === null ? 'This broker is running and has no topics yet.' : 'This broker has its first topic.'}{' '}
        {mayCreate
          ? 'See a record of your own arrive: here in the browser, or with the tools in a terminal.'
          : 'An administrator can create one here, and so can every Kafka client with these commands.'}
      </p>
      <div className={`grid grid-cols-1 items-start gap-4 ${mayCreate ? 'lg:grid-cols-2' : 'max-w-wide'}`}>
        {mayCreate && (
          <section
            aria-labelledby="in-the-browser"
            className="min-w-0 rounded-card border border-line bg-surface p-4 md:p-6"
          >
            <h2 id="in-the-browser" className="mb-4 text-section font-semibold">
              In the browser
            </h2>
            <BrowserSteps
              topic={shown}
              name={name}
              onName={setName}
              onCreated={topicName => {
                setCreated(topicName)
                onBegin()
              }}
              onLeave={onLeave}
            />
          </section>
        )}
        <section
          aria-labelledby="in-a-terminal"
          className="min-w-0 rounded-card border border-line bg-surface p-4 md:p-6"
        >
          <h2 id="in-a-terminal" className="mb-4 text-section font-semibold">
            In a terminal
          </h2>
          <TerminalSteps
            topic={shown ?? (name.trim() === '' ? FIRST_NAME : name)}
            isThere={shown !== null}
            value={EXAMPLE}
          />
        </section>
      </div>
    </>
  )
}
