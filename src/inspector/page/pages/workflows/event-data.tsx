import { usePoll } from '../../core/poll.ts';
import { Payload } from '../../ui/payload.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Failure } from './failure.tsx';

interface EventDataProps {
  readonly instanceId: string;
  readonly index: number;
  readonly label: string;
}

/** An event changes no more: it is asked for once. */
const NEVER_MS = 2 ** 31 - 1;

/** The data of an event of a history, or its failure: asked for when it is shown. */
export function EventData({ instanceId, index, label }: EventDataProps) {
  const poll = usePoll('workflows/event', { instanceId, index }, NEVER_MS);
  return (
    <Loaded of={poll}>
      {({ event: { data, failure } }) =>
        failure === undefined ? (
          <>
            <h3>{label}</h3>
            <Payload of={data} label={label} />
          </>
        ) : (
          <Failure of={failure} />
        )
      }
    </Loaded>
  );
}
