/** The entry changed in the same places meanwhile: for each of them, which of the versions stays, or what is written by hand. */
import { Button, Group, Modal, Radio, Stack, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { parse } from 'yaml';
import type { ResolutionInput } from '../../documents.ts';
import { fieldName } from '../../lib/json.ts';
import classes from './conflict-dialog.module.css';
import { asText } from './content-diff.tsx';
import type { Clash } from './save.ts';

type Take = 'current' | 'incoming' | 'base' | 'hand';

/** One place that both changed. */
interface Place {
  key: string;
  name: string;
  kind: 'field' | 'hunk' | 'file';
  versions: Partial<Record<'base' | 'current' | 'incoming', string>>;
  /** What is written by hand is text, and not YAML. */
  isText: boolean;
}

interface Choice {
  take: Take;
  text: string;
}

function placesOf(
  { conflict }: Clash,
  t: (key: 'whole_file' | 'text_line', values?: { line: number }) => string,
): Place[] {
  if (conflict.reason !== null)
    return [
      {
        key: '',
        name: t('whole_file'),
        kind: 'file',
        versions: { current: conflict.reason, incoming: '' },
        isText: true,
      },
    ];
  const fields = conflict.fields.map(
    ({ field, base, current, incoming }): Place => ({
      key: field,
      name: fieldName(field),
      kind: 'field',
      versions: { base: asText(base), current: asText(current), incoming: asText(incoming) },
      isText: [base, current, incoming].some((value) => typeof value === 'string'),
    }),
  );
  const hunks = conflict.hunks.map(
    ({ id, base, current, incoming, line }): Place => ({
      key: id,
      name: t('text_line', { line }),
      kind: 'hunk',
      versions: { ...(base !== null && { base }), current, incoming },
      isText: true,
    }),
  );
  return [...fields, ...hunks];
}

/** @throws YAMLParseError */
function answer(place: Place, { take, text }: Choice): { take: string } | { value: unknown } {
  if (take !== 'hand') return { take };
  return { value: place.isText ? text : parse(text) };
}

interface ConflictDialogProps {
  clash: Clash;
  onClose: () => void;
  onResolve: (input: ResolutionInput) => void;
}

export function ConflictDialog({ clash, onClose, onResolve }: ConflictDialogProps) {
  const { t } = useTranslation(['entry', 'common']);
  const places = placesOf(clash, (key, values) => t(key, values ?? {}));
  const [choices, setChoices] = useState<Record<string, Choice>>({});
  const [fault, setFault] = useState<string | null>(null);
  const isWhole = places.every(({ key }) => choices[key] !== undefined);
  const resolve = () => {
    const { path, stages: seen } = clash.conflict;
    const stages = { base: seen.base, current: seen.current, incoming: seen.incoming };
    const of = (kind: Place['kind']) =>
      Object.fromEntries(
        places.flatMap((place) => {
          const choice = choices[place.key];
          return place.kind === kind && choice ? [[place.key, answer(place, choice)]] : [];
        }),
      );
    try {
      const [first] = places;
      if (first?.kind === 'file')
        onResolve({ path, stages, take: choices['']?.take === 'current' ? 'current' : 'incoming' });
      else onResolve({ path, stages, fields: of('field'), hunks: of('hunk') });
    } catch (error) {
      setFault(t('yaml_fault', { reason: (error as Error).message.split('\n', 1)[0] ?? '' }));
    }
  };
  const option = (place: Place, take: Exclude<Take, 'hand'>) => {
    const text = place.versions[take];
    if (text === undefined) return null;
    return (
      <div className={classes.version} key={take}>
        <Radio value={take} label={t(`take_${take}`)} />
        {text !== '' ? (
          <pre dir="auto">{text}</pre>
        ) : (
          place.kind !== 'file' && (
            <Text size="xs" c="dimmed">
              {t('nothing_there')}
            </Text>
          )
        )}
      </div>
    );
  };
  return (
    <Modal opened onClose={onClose} title={t('conflict_title')} size="xl">
      <Stack>
        <Text size="sm">{t('conflict_lead')}</Text>
        {places.map((place) => {
          const choice = choices[place.key];
          const choose = (next: Choice) => setChoices((before) => ({ ...before, [place.key]: next }));
          return (
            <Radio.Group
              key={place.key}
              label={place.name}
              value={choice?.take ?? ''}
              onChange={(take) => choose({ take: take as Take, text: choice?.text ?? place.versions.incoming ?? '' })}
              className={classes.place}
            >
              <div className={classes.versions}>
                {option(place, 'current')}
                {option(place, 'incoming')}
                {option(place, 'base')}
                {place.kind !== 'file' && (
                  <div className={classes.version}>
                    <Radio value="hand" label={t('take_hand')} />
                    {choice?.take === 'hand' && (
                      <Textarea
                        aria-label={t('by_hand_of', { name: place.name })}
                        value={choice.text}
                        onChange={(event) => choose({ take: 'hand', text: event.currentTarget.value })}
                        autosize
                        maxRows={12}
                        dir="auto"
                      />
                    )}
                  </div>
                )}
              </div>
            </Radio.Group>
          );
        })}
        {fault && (
          <Text c="var(--p-bad)" size="sm" role="alert">
            {fault}
          </Text>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t('conflict_later')}
          </Button>
          <Button onClick={resolve} disabled={!isWhole}>
            {t('conflict_save')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
