/** The log of a job as it is written, with search; it follows its end until one scrolls away from it. */
import { ActionIcon, Switch, Text, TextInput } from '@mantine/core';
import { IconChevronDown, IconChevronUp, IconSearch } from '@tabler/icons-react';
import { memo, useEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { DeploymentLog } from '../../documents.ts';
import { follow } from '../../lib/follow.ts';
import { MarkedText } from '../../parts/marked-text.tsx';
import classes from './log.module.css';

interface Line {
  number: number;
  text: string;
}

/** Lines that are laid out together, or not at all while they are out of sight. */
const perBlock = 200;

function linesOf(text: string): Line[] {
  const rows = text.split('\n');
  if (rows.at(-1) === '') rows.pop();
  return rows.map((row, at) => ({ number: at + 1, text: row }));
}

interface BlockProps {
  lines: readonly Line[];
  wanted: string;
  current: number | undefined;
  isLast: boolean;
}

const isEqual = (one: BlockProps, other: BlockProps): boolean =>
  one.lines.length === other.lines.length &&
  one.lines.at(-1)?.text === other.lines.at(-1)?.text &&
  one.wanted === other.wanted &&
  one.current === other.current &&
  one.isLast === other.isLast;

const Block = memo(function Block({ lines, wanted, current, isLast }: BlockProps) {
  return (
    <div className={classes.block} data-last={isLast}>
      {lines.map(({ number, text }) => (
        <div
          key={number}
          className={classes.line}
          data-line={number}
          data-found={wanted !== '' && text.toLowerCase().includes(wanted)}
          data-current={number === current}
        >
          <MarkedText text={text} />
        </div>
      ))}
    </div>
  );
}, isEqual);

interface LogProps {
  at: { organization: string; project: string; deployment: number; job: number };
  label: string;
}

export function Log({ at, label }: LogProps) {
  const { t } = useTranslation('site');
  const [text, setText] = useState('');
  const [query, setQuery] = useState('');
  const [found, setFound] = useState(0);
  const [isFollowing, setFollowing] = useState(true);
  const place = useRef<HTMLElement>(null);
  const { organization, project, deployment, job } = at;
  useEffect(() => {
    setText('');
    const bytes = new TextEncoder();
    return follow({
      document: DeploymentLog,
      variables: { organization, project, deployment, job },
      positionOf: ({ deploymentLog: part }) => (part ? String(part.offset + bytes.encode(part.text).length) : null),
      onData: ({ deploymentLog: part }) => part && setText((before) => before + part.text),
    });
  }, [organization, project, deployment, job]);

  const lines = useMemo(() => linesOf(text), [text]);
  const wanted = query.toLowerCase();
  const matches = useMemo(
    () => (wanted === '' ? [] : lines.filter((line) => line.text.toLowerCase().includes(wanted))),
    [lines, wanted],
  );
  const current = matches[found]?.number;
  useEffect(() => {
    const box = place.current;
    if (isFollowing && wanted === '' && box && lines.length > 0) box.scrollTop = box.scrollHeight;
  }, [lines, isFollowing, wanted]);
  useEffect(() => {
    if (current === undefined) return;
    place.current?.querySelector(`[data-line="${current}"]`)?.scrollIntoView({ block: 'center' });
  }, [current]);

  const step = (by: number) => setFound((before) => (before + by + matches.length) % Math.max(matches.length, 1));
  const blocks = Array.from({ length: Math.ceil(lines.length / perBlock) }, (_, block) =>
    lines.slice(block * perBlock, (block + 1) * perBlock),
  );
  return (
    <>
      <div className={classes.tools}>
        <TextInput
          type="search"
          aria-label={t('search_log')}
          placeholder={t('search_log')}
          leftSection={<IconSearch size={16} />}
          value={query}
          onChange={(event) => {
            setQuery(event.currentTarget.value);
            setFound(0);
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter') step(event.shiftKey ? -1 : 1);
          }}
        />
        <ActionIcon variant="default" size={32} aria-label={t('previous_match')} onClick={() => step(-1)}>
          <IconChevronUp size={16} />
        </ActionIcon>
        <ActionIcon variant="default" size={32} aria-label={t('next_match')} onClick={() => step(1)}>
          <IconChevronDown size={16} />
        </ActionIcon>
        <Text size="sm" c="dimmed" role="status">
          {wanted !== '' && t('matches', { at: matches.length === 0 ? 0 : found + 1, count: matches.length })}
        </Text>
        <Switch
          ms="auto"
          label={t('follow')}
          checked={isFollowing}
          onChange={(event) => setFollowing(event.currentTarget.checked)}
        />
      </div>
      <section
        ref={place}
        className={classes.log}
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it can be scrolled by keyboard only when it can have the focus
        tabIndex={0}
        dir="ltr"
        onWheel={(event) => event.deltaY < 0 && setFollowing(false)}
      >
        {lines.length === 0 && (
          <Text c="dimmed" px="sm">
            {t('no_log')}
          </Text>
        )}
        {blocks.map((block, index) => (
          <Block
            key={block[0]?.number ?? index}
            lines={block}
            wanted={wanted}
            current={block.some(({ number }) => number === current) ? current : undefined}
            isLast={index === blocks.length - 1}
          />
        ))}
      </section>
    </>
  );
}
