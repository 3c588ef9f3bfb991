import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { UpdateEnvironment, type UpdateEnvironmentInput } from '../../../documents.ts';
import { useCommand } from '../../../lib/command.ts';
import type { Fault } from '../../../lib/faults.ts';
import { usePlace } from '../../../lib/place.ts';

type Changes = Omit<UpdateEnvironmentInput, 'environment'>;

interface Update {
  /** Saves changes and says so. @returns false when they were refused */
  save: (changes: Changes) => Promise<boolean>;
  isRunning: boolean;
  fault: Fault | null;
  /** What notifications to a provider are signed with, when the last save made it: it is not given again. */
  secret: string | null;
  forgetSecret: () => void;
}

/** The command that changes an environment. @param onChanged asks for the page again */
export function useUpdate(environment: number, onChanged: () => void): Update {
  const { t } = useTranslation('common');
  const { organization, project } = usePlace();
  const { run, isRunning, fault } = useCommand(UpdateEnvironment);
  const [secret, setSecret] = useState<string | null>(null);
  const save = async (changes: Changes) => {
    const { data, fault } = await run({ organization, project, input: { environment, ...changes } });
    if (fault) return false;
    notifications.show({ message: t('saved') });
    setSecret(data.updateEnvironment?.deploy_hook_secret ?? null);
    onChanged();
    return true;
  };
  return { save, isRunning, fault, secret, forgetSecret: () => setSecret(null) };
}

interface Settings<Values> {
  values: Values;
  change: (part: Partial<Values>) => void;
  /** What differs from what is stored. */
  changed: Partial<Values>;
  isUnchanged: boolean;
}

/** Values as a form edits them; one that was not touched follows what others save. */
export function useSettings<Values extends object>(stored: Values): Settings<Values> {
  const [edited, setEdited] = useState<Partial<Values>>({});
  const entries = Object.entries(edited).filter(([name, value]) => value !== stored[name as keyof Values]);
  return {
    values: { ...stored, ...edited },
    change: (part) => setEdited((before) => ({ ...before, ...part })),
    changed: Object.fromEntries(entries) as Partial<Values>,
    isUnchanged: entries.length === 0,
  };
}
