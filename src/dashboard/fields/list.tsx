/** A list of anything: items are added, removed, duplicated, and moved by dragging, by buttons, and so by keyboard. */
import { ActionIcon, Button, Collapse, Input, Menu, UnstyledButton } from '@mantine/core';
import {
  IconArrowDown,
  IconArrowUp,
  IconChevronDown,
  IconChevronRight,
  IconDots,
  IconGripVertical,
  IconPlus,
} from '@tabler/icons-react';
import { useId, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { pointerTo } from '../../lib/json-pointer.ts';
import { emptyValue, type Field, summaryOf } from './field.ts';
import classes from './fields.module.css';
import { useField, useForm, type WidgetProps } from './form.tsx';
import { ObjectFields } from './object.tsx';

const moved = <Item,>(items: readonly Item[], from: number, to: number): Item[] => {
  const rest = items.filter((_, index) => index !== from);
  return [...rest.slice(0, to), ...items.slice(from, from + 1), ...rest.slice(to)];
};

/** An object in a list: where the site's CMS closes or sums up its items, its fields below a line that opens them. */
function ObjectItem({ field, pointer, name, isNew }: WidgetProps & { name: string; isNew: boolean }) {
  const { value } = useField({ field, pointer });
  const id = useId();
  const canClose = field.isCollapsed || field.summary !== undefined;
  const [isOpen, setOpen] = useState(isNew || !field.isCollapsed);
  const fields = <ObjectFields field={field} pointer={pointer} />;
  return (
    <fieldset className={classes.plain} aria-label={name}>
      {canClose ? (
        <>
          <UnstyledButton
            className={classes.groupLabel}
            onClick={() => setOpen(!isOpen)}
            aria-expanded={isOpen}
            aria-controls={id}
          >
            {isOpen ? <IconChevronDown size={16} /> : <IconChevronRight size={16} />}
            {name}
            <bdi className={classes.summary}>{summaryOf(field, value)}</bdi>
          </UnstyledButton>
          <Collapse expanded={isOpen} id={id} pt={isOpen ? 'xs' : 0}>
            {fields}
          </Collapse>
        </>
      ) : (
        fields
      )}
    </fieldset>
  );
}

interface ItemProps {
  field: Field;
  /** What each item is called, before its number. */
  called: string;
  /** It was added here. */
  isNew: boolean;
  pointer: string;
  index: number;
  count: number;
  isReadOnly: boolean;
  change: (next: (items: unknown[]) => unknown[], focus?: number) => void;
  drag: { from: number | null; start: (index: number | null) => void };
}

function Item({ field, called, isNew, pointer, index, count, isReadOnly, change, drag }: ItemProps) {
  const { t } = useTranslation('entry');
  const { FieldView } = useForm();
  const [isDraggable, setDraggable] = useState(false);
  const number = index + 1;
  const name = t('item', { label: called, number });
  const move = (to: number) => change((items) => moved(items, index, to), to);
  return (
    <li
      className={classes.item}
      draggable={isDraggable}
      data-over={drag.from !== null && drag.from !== index}
      onDragStart={(event) => {
        event.dataTransfer.effectAllowed = 'move';
        event.dataTransfer.setData('text/plain', name);
        drag.start(index);
      }}
      onDragEnd={() => {
        setDraggable(false);
        drag.start(null);
      }}
      onDragOver={(event) => drag.from !== null && event.preventDefault()}
      onDrop={(event) => {
        const { from } = drag;
        if (from === null) return;
        event.preventDefault();
        change((items) => moved(items, from, index), index);
        drag.start(null);
      }}
    >
      {!isReadOnly && (
        <span className={classes.grip} onPointerDown={() => setDraggable(true)} aria-hidden="true">
          <IconGripVertical size={16} />
        </span>
      )}
      <div className={classes.itemValue}>
        {field.type === 'object' ? (
          <ObjectItem field={field} pointer={pointer} name={name} isNew={isNew} />
        ) : (
          <FieldView field={{ ...field, label: name }} pointer={pointer} />
        )}
      </div>
      {!isReadOnly && (
        <div className={classes.itemActions}>
          <ActionIcon
            variant="subtle"
            color="gray"
            data-move="up"
            disabled={index === 0}
            onClick={() => move(index - 1)}
            aria-label={t('move_up', { name })}
          >
            <IconArrowUp size={16} />
          </ActionIcon>
          <ActionIcon
            variant="subtle"
            color="gray"
            data-move="down"
            disabled={number === count}
            onClick={() => move(index + 1)}
            aria-label={t('move_down', { name })}
          >
            <IconArrowDown size={16} />
          </ActionIcon>
          <Menu position="bottom-end">
            <Menu.Target>
              <ActionIcon variant="subtle" color="gray" aria-label={t('more_of', { name })}>
                <IconDots size={16} />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item onClick={() => change((items) => items.toSpliced(number, 0, items[index]), number)}>
                {t('duplicate_item')}
              </Menu.Item>
              <Menu.Item onClick={() => change((items) => items.toSpliced(index, 1), Math.max(index - 1, 0))}>
                {t('remove_item')}
              </Menu.Item>
            </Menu.Dropdown>
          </Menu>
        </div>
      )}
    </li>
  );
}

export function ListWidget({ field, pointer }: WidgetProps) {
  const { t } = useTranslation('entry');
  const { value, set, labels, isReadOnly } = useField({ field, pointer });
  const [from, start] = useState<number | null>(null);
  // Items have no name of their own; a key goes with each as it is moved.
  const keys = useRef<{ last: number; of: number[] }>({ last: 0, of: [] });
  const list = useRef<HTMLUListElement>(null);
  const id = useId();
  const items = Array.isArray(value) ? value : [];
  const [first] = useState(items.length);
  const [isShown, setShown] = useState(!(field.isCollapsed && field.isMinimized));
  while (keys.current.of.length < items.length) keys.current.of.push(++keys.current.last);
  const change = (next: (items: unknown[]) => unknown[], focus?: number) => {
    const moves = next(items.map((_, index) => index));
    const seen = new Set<number>();
    keys.current.of = moves.map((index) => {
      const key = typeof index === 'number' && !seen.has(index) ? keys.current.of[index] : undefined;
      if (typeof index === 'number') seen.add(index);
      return key ?? ++keys.current.last;
    });
    set(next(items));
    if (focus === undefined) return;
    requestAnimationFrame(() => {
      const item = list.current?.children[focus];
      item?.querySelector<HTMLElement>('input, textarea, button:not([disabled])')?.focus();
    });
  };
  const one = field.item ?? field;
  const add = (kind: Field) => {
    const made = emptyValue(kind);
    setShown(true);
    change((before) => [...before, made ?? ''], items.length);
  };
  const blocks = one.type === 'variants' ? one.variants.filter(({ type }) => type === 'object') : [];
  return (
    <Input.Wrapper {...labels} labelElement="div" labelProps={{ id: `${id}-label` }}>
      {!isShown && items.length > 0 && (
        <Button variant="subtle" size="compact-sm" onClick={() => setShown(true)} aria-expanded={false}>
          {t('show_items', { count: items.length })}
        </Button>
      )}
      <ul ref={list} className={classes.list} aria-labelledby={`${id}-label`} hidden={!isShown}>
        {items.map((_, index) => (
          <Item
            key={keys.current.of[index]}
            field={one}
            called={field.itemLabel ?? one.label}
            isNew={(keys.current.of[index] ?? 0) > first}
            pointer={pointerTo(pointer, index)}
            index={index}
            count={items.length}
            isReadOnly={isReadOnly}
            change={change}
            drag={{ from, start }}
          />
        ))}
      </ul>
      {!isReadOnly && blocks.length < 2 && (
        <Button
          variant="subtle"
          size="compact-sm"
          leftSection={<IconPlus size={14} />}
          onClick={() => add(one)}
          aria-label={t('add_to', { label: field.label })}
        >
          {t('add')}
        </Button>
      )}
      {!isReadOnly && blocks.length > 1 && (
        <Menu position="bottom-start">
          <Menu.Target>
            <Button
              variant="subtle"
              size="compact-sm"
              leftSection={<IconPlus size={14} />}
              aria-label={t('add_to', { label: field.label })}
            >
              {t('add')}
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {blocks.map((block, index) => (
              <Menu.Item key={block.label || index} onClick={() => add(block)}>
                {block.label || t('kind', { number: index + 1 })}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      )}
    </Input.Wrapper>
  );
}
