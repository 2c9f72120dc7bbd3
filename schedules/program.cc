#include "schedules/program.h"

#include <utility>

namespace kindred {

StmtPtr Block(StmtList children) {
  auto s = MakeNode<Stmt>();
  s->kind = StmtKind::kBlock;
  s->children = std::move(children);
  return s;
}

StmtPtr For(int var, ExprPtr extent, LoopKind kind, StmtPtr body, int unroll) {
  auto s = MakeNode<Stmt>();
  s->kind = StmtKind::kFor;
  s->var = var;
  s->extent = ExprPtr::ForMember(std::move(extent));
  s->loop = kind;
  s->unroll = unroll;
  s->children = {std::move(body)};
  return s;
}

StmtPtr If(ExprPtr condition, StmtPtr then, StmtPtr otherwise) {
  auto s = MakeNode<Stmt>();
  s->kind = StmtKind::kIf;
  s->value = ExprPtr::ForMember(std::move(condition));
  s->children = otherwise ? StmtList{then, otherwise} : StmtList{then};
  return s;
}

StmtPtr Let(int var, ExprPtr value) {
  auto s = MakeNode<Stmt>();
  s->kind = StmtKind::kLet;
  s->var = var;
  s->value = ExprPtr::ForMember(std::move(value));
  return s;
}

StmtPtr Store(int buffer, ExprPtr index, ExprPtr value) {
  auto s = MakeNode<Stmt>();
  s->kind = StmtKind::kStore;
  s->buffer = buffer;
  s->index = ExprPtr::ForMember(std::move(index));
  s->value = ExprPtr::ForMember(std::move(value));
  return s;
}

StmtPtr Comment(std::string text) {
  auto s = MakeNode<Stmt>();
  s->kind = StmtKind::kComment;
  s->text = std::move(text);
  if (NodeArena* arena = NodeArena::current())
    arena->Hold(&s->text, [](const void* held) {
      std::destroy_at(static_cast<std::string*>(const_cast<void*>(held)));
    });
  return s;
}

StmtPtr Barrier() {
  auto s = MakeNode<Stmt>();
  s->kind = StmtKind::kBarrier;
  return s;
}

StmtPtr CombineThreads(int buffer, ExprPtr index, Op combine, int width, int position) {
  auto s = MakeNode<Stmt>();
  s->kind = StmtKind::kCombine;
  s->buffer = buffer;
  s->index = ExprPtr::ForMember(std::move(index));
  s->combine = combine;
  s->width = width;
  s->position = position;
  return s;
}

StmtPtr CopyAsync(int buffer, ExprPtr index, ExprPtr load, ExprPtr condition, int elements) {
  auto s = MakeNode<Stmt>();
  s->kind = StmtKind::kCopy;
  s->buffer = buffer;
  s->index = ExprPtr::ForMember(std::move(index));
  s->value = ExprPtr::ForMember(std::move(load));
  s->extent = ExprPtr::ForMember(std::move(condition));
  s->width = elements;
  return s;
}

StmtPtr CommitCopies() {
  auto s = MakeNode<Stmt>();
  s->kind = StmtKind::kCommitCopies;
  return s;
}

StmtPtr WaitCopies(int groups_left) {
  auto s = MakeNode<Stmt>();
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
