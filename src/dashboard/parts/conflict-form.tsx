/** Settles what two versions of the content changed in the same places: field by field, and place by place in texts. */
import { Button, Group, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { FileConflictFragment, ResolutionInput } from '../documents.ts';
import type { Fault } from '../lib/faults.ts';
import classes from './conflict-form.module.css';
import { ConflictPiece, type Sides } from './conflict-piece.tsx';
import { EntryName } from './entry-name.tsx';
import { FaultAlert } from './fault-alert.tsx';
import { MarkedText } from './marked-text.tsx';
import { type Choice, type Choices, isSettled, piecesOf, resolutionsOf } from './resolutions.ts';

interface ConflictFormProps {
  conflicts: readonly FileConflictFragment[];
  sides: Sides;
  /** Name of the button. */
  action: string;
  onResolve: (resolutions: ResolutionInput[]) => void;
  isRunning: boolean;
  fault: Fault | null;
}

interface FileProps {
  conflict: FileConflictFragment;
  sides: Sides;
  choices: Choices;
  onChoose: (chosen: Choices) => void;
}

function File({ conflict, sides, choices, onChoose }: FileProps) {
  const { t } = useTranslation('common');
  const pieces = piecesOf(conflict);
  const { collection, slug, title, path, stages, reason } = conflict;
  const has = { current: stages.current !== null, incoming: stages.incoming !== null };
  const takeAll = (take: 'current' | 'incoming') =>
    onChoose(
      Object.fromEntries(pieces.map(({ key }): [string, Choice] => [key, has[take] ? { take } : { delete: true }])),
    );
  return (
    <section className={classes.file}>
      <header className={classes.head}>
        <Title order={3} size="h3" title={path}>
          {collection !== null && slug !== null ? (
            <EntryName title={title} collection={collection} slug={slug} />
          ) : (
            <MarkedText text={path} />
          )}
        </Title>
        {pieces.length > 1 && (
          <Group gap="xs">
            {(['current', 'incoming'] as const).map((take) => (
              <Button key={take} size="compact-xs" variant="default" onClick={() => takeAll(take)}>
                {t('conflict_all', { side: sides[take] })}
              </Button>
            ))}
          </Group>
        )}
      </header>
      {pieces[0]?.kind === 'file' && (
        <Text size="sm" px="sm" pt="sm">
          {t(`conflict_${conflict.type}`)} {reason}
        </Text>
      )}
      {pieces.map((piece) => (
        <ConflictPiece
          key={piece.key}
          piece={piece}
          sides={sides}
          has={has}
          choice={choices[piece.key]}
          onChoose={(choice) => onChoose({ [piece.key]: choice })}
        />
      ))}
    </section>
  );
}

export function ConflictForm({ conflicts, sides, action, onResolve, isRunning, fault }: ConflictFormProps) {
  const { t } = useTranslation('common');
  const [choices, setChoices] = useState<Choices>({});
  const pieces = conflicts.flatMap(piecesOf);
  const settled = pieces.filter((piece) => isSettled(piece, choices[piece.key])).length;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onResolve(resolutionsOf(conflicts, choices));
      }}
    >
      <Stack>
        {conflicts.map((conflict) => (
          <File
            key={conflict.path}
            conflict={conflict}
            sides={sides}
            choices={choices}
            onChoose={(chosen) => setChoices((before) => ({ ...before, ...chosen }))}
          />
        ))}
        <FaultAlert fault={fault} />
        <Group>
          <Button type="submit" loading={isRunning} disabled={settled < pieces.length}>
            {action}
          </Button>
          <Text size="sm" c="dimmed" role="status">
            {t('conflict_settled', { count: settled, total: pieces.length })}
          </Text>
        </Group>
      </Stack>
    </form>
  );
}
