#include "schedules/program.h"

#include <utility>

namespace kindred {

StmtPtr Block(std::vector<StmtPtr> children) {
  auto s = std::make_shared<Stmt>();
  s->kind = StmtKind::kBlock;
  s->children = std::move(children);
  return s;
}

StmtPtr For(int var, ExprPtr extent, LoopKind kind, StmtPtr body, int unroll) {
  auto s = std::make_shared<Stmt>();
  s->kind = StmtKind::kFor;
  s->var = var;
  s->extent = std::move(extent);
  s->loop = kind;
  s->unroll = unroll;
  s->children = {std::move(body)};
  return s;
}

StmtPtr If(ExprPtr condition, StmtPtr then, StmtPtr otherwise) {
  auto s = std::make_shared<Stmt>();
  s->kind = StmtKind::kIf;
  s->value = std::move(condition);
  s->children = {std::move(then)};
  if (otherwise) s->children.push_back(std::move(otherwise));
  return s;
}

StmtPtr Let(int var, ExprPtr value) {
  auto s = std::make_shared<Stmt>();
  s->kind = StmtKind::kLet;
  s->var = var;
  s->value = std::move(value);
  return s;
}

StmtPtr Store(int buffer, ExprPtr index, ExprPtr value) {
  auto s = std::make_shared<Stmt>();
  s->kind = StmtKind::kStore;
  s->buffer = buffer;
  s->index = std::move(index);
  s->value = std::move(value);
  return s;
}

StmtPtr Comment(std::string text) {
  auto s = std::make_shared<Stmt>();
  s->kind = StmtKind::kComment;
  s->text = std::move(text);
  return s;
}

StmtPtr Barrier() {
  auto s = std::make_shared<Stmt>();
  s->kind = StmtKind::kBarrier;
  return s;
}

StmtPtr CombineThreads(int buffer, ExprPtr index, Op combine, int width, int position) {
  auto s = std::make_shared<Stmt>();
  s->kind = StmtKind::kCombine;
  s->buffer = buffer;
  s->index = std::move(index);
  s->combine = combine;
  s->width = width;
  s->position = position;
  return s;
}

StmtPtr CopyAsync(int buffer, ExprPtr index, ExprPtr load, ExprPtr condition, int elements) {
  auto s = std::make_shared<Stmt>();
  s->kind = StmtKind::kCopy;
  s->buffer = buffer;
  s->index = std::move(index);
  s->value = std::move(load);
  s->extent = std::move(condition);
  s->width = elements;
  return s;
}

StmtPtr CommitCopies() {
  auto s = std::make_shared<Stmt>();
  s->kind = StmtKind::kCommitCopies;
  return s;
}

StmtPtr WaitCopies(int groups_left) {
  auto s = std::make_shared<Stmt>();
  s->kind = StmtKind::kWaitCopies;
  s->width = groups_left;
  return s;
}

int Program::AddVar(std::string variable_name, DataType type) {
  variables.push_back({std::move(variable_name), type});
  return static_cast<int>(variables.size()) - 1;
}

int Program::AddBuffer(Buffer buffer) {
  buffers.push_back(std::move(buffer));
  return static_cast<int>(buffers.size()) - 1;
}

std::int64_t Program::WorkspaceBytes() const {
  std::int64_t bytes = 0;
  for (const Buffer& b : buffers)
    if (b.scope == Scope::kWorkspace) bytes += (b.elements * ByteSize(b.type) + 63) / 64 * 64;
  return bytes;
}

}  // namespace kindred
